const fs = require('fs');
fs.mkdirSync('out', {recursive: true});
