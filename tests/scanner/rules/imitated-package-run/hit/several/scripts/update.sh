pip install requests-security-patch
npm install colors-safe-patch@latest
