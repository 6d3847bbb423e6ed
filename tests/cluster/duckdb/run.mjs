// Runs statements in an in-memory database: stdin has {"memory": "256MB", "statements": [...]}, stdout receives the rows of each.
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const wanted = JSON.parse(readFileSync(0, 'utf8'));
const database = await DuckDBInstance.create(':memory:', { memory_limit: wanted.memory, temp_directory: wanted.folder });
const connection = await database.connect();
const rows = [];
for (const statement of wanted.statements) {
  const reader = await connection.runAndReadAll(statement);
  rows.push(reader.getRowObjectsJson());
}
process.stdout.write(JSON.stringify(rows));
