"""The pure core over its whole domain. The product of cases is generated, never listed."""
