"""What people may say, and what they hear."""
