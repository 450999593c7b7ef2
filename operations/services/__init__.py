"""What may be done on the ground floor. Keyword-only, typed; each module defines the errors it raises."""
