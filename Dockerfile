# The server image: webhook and workers. No torch here; runners have their own.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY rules rules
COPY runners runners
RUN python -m venv /opt/kl-triage && /opt/kl-triage/bin/pip install --no-cache-dir .

FROM python:3.13-slim-bookworm
RUN groupadd --system --gid 10001 kl-triage \
 && useradd --system --uid 10001 --gid kl-triage --home-dir /data --create-home kl-triage
COPY --from=build /opt/kl-triage /opt/kl-triage
ENV PATH=/opt/kl-triage/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    KL_TRIAGE_DATABASE_URL=sqlite:////data/kl-triage.sqlite
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=4)"]
CMD ["kl-triage", "serve", "--host", "0.0.0.0", "--port", "8080"]
