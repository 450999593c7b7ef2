"""What may be done about a doubt. Nothing in here can write to a provider: it is only ever handed a Reader."""
