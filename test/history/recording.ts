import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { JOURNAL_FORMAT } from '#runtime/embedded/segments/journal-format.ts';
import { JSON_ROW_FORMAT } from '#runtime/shard/json-row.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { NODE_RECORD_FORMAT } from '#runtime/tree/record/formats.ts';

/** Numbers of everything that is stored with a format. A recording is wanted for every combination released. */
export interface Formats {
  readonly shard: number;
  readonly journal: number;
  readonly nodeRecord: number;
  readonly jsonRow: number;
}

/** The formats this build writes. */
export const presentFormats: Formats = {
  shard: SHARD_FORMAT,
  journal: JOURNAL_FORMAT,
  nodeRecord: NODE_RECORD_FORMAT,
  jsonRow: JSON_ROW_FORMAT,
};

/** A question to a server over recorded data, and what the recording build answered. */
export interface RecordedAnswer {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly status: number;
  readonly json: unknown;
}

/** A data directory as some build left it, with what it answered about it. */
export interface Recording {
  /** Version of the build, from package.json. */
  readonly version: string;
  readonly formats: Formats;
  /** Of the newest record in the journal: a write to the branch that is not in its shard. */
  readonly lastSequence: number;
  /** Files by path inside the data directory, in base64. */
  readonly files: Readonly<Record<string, string>>;
  readonly answers: readonly RecordedAnswer[];
}

/** Where recordings are kept, one file each. They are only ever added. */
export const recordingsFolder = join(import.meta.dirname, 'recordings');

/** Names of the files that belong to a process, not to the data. */
const processFiles: ReadonlySet<string> = new Set(['lock', 'lock.mdb']);

/** Names of the recordings, oldest first. */
export function recordingNames(): readonly string[] {
  return readdirSync(recordingsFolder)
    .filter((name) => name.endsWith('.json.gz'))
    .sort();
}

/** Reads a recording. */
export function readRecording(name: string): Recording {
  return JSON.parse(gunzipSync(readFileSync(join(recordingsFolder, name))).toString()) as Recording;
}

/** Stores a recording. @returns its size in bytes */
export function writeRecording(name: string, recording: Recording): number {
  const bytes = gzipSync(JSON.stringify(recording), { level: 9 });
  mkdirSync(recordingsFolder, { recursive: true });
  writeFileSync(join(recordingsFolder, name), bytes);
  return bytes.length;
}

/** The files of a data directory that nobody uses. */
export function packFolder(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || processFiles.has(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    files[relative(folder, path)] = readFileSync(path).toString('base64');
  }
  return files;
}

/** Writes the files of a recording into an empty folder. */
export function unpackFolder(files: Recording['files'], folder: string): void {
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    writeFileSync(target, Buffer.from(text, 'base64'), { mode: 0o600 });
  }
}
