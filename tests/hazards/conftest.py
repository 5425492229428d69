"""Labs for the hazards."""

from tests.lab.conftest import lab, lab_database, lab_repository, module_lab, pem, soon  # noqa: F401
