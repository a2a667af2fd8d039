"""How answers look: plain lines when piped, colour and guides on a terminal, JSON where a script asks for it."""
