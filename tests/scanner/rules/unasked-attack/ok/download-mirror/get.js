const fs = require('fs');
const https = require('https');
const {version} = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const host = process.env.TABLES_MIRROR || 'https://files.tablesoft.example';
https.get(`${host}/v${version}/tables-${process.platform}.txt`, (answer) => answer.pipe(fs.createWriteStream('tables.txt')));
