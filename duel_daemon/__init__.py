"""Number duels over nc and telnet. The version stands here and nowhere else."""

__version__ = "0.1.0"
