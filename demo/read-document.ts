import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Largest imported text, in bytes; longer files are seldom documentation. */
export const DOCUMENT_BYTES_MAX = 256 * 1024;

/** Longest title, in characters. */
const TITLE_CHARACTERS_MAX = 200;

/** Properties of a `demo:Document`. The hash covers all other properties and shows whether a node is up to date. */
export interface DocumentProperties {
  readonly title: string;
  readonly bytes: number;
  readonly lines: number;
  readonly extension: string;
  readonly language: string;
  readonly source: string;
  readonly content: string;
  readonly hash: string;
}

/**
 * Reads a file as a document; compressed files are decompressed.
 *
 * @returns undefined for a file that is not text, too long, empty or unreadable
 */
export function readDocument(file: string): DocumentProperties | undefined {
  const content = readText(file);
  if (content === undefined) return undefined;
  const name = documentName(file);
  const properties = {
    title: titleOf(content, name).slice(0, TITLE_CHARACTERS_MAX).toWellFormed(),
    bytes: Buffer.byteLength(content),
    lines: content.split('\n').length - (content.endsWith('\n') ? 1 : 0),
    extension: extname(name).slice(1).toLowerCase(),
    language: languageOf(file),
    source: file,
    content,
  };
  return { ...properties, hash: hashOf(properties) };
}

/** Name of a file without the extension of its compression. */
export function documentName(file: string): string {
  return basename(file).replace(/\.gz$/i, '');
}

/** A short hash of a JSON value. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32);
}

function readText(file: string): string | undefined {
  let bytes: Buffer;
  try {
    if (statSync(file).size > DOCUMENT_BYTES_MAX) return undefined;
    bytes = readFileSync(file);
    if (/\.gz$/i.test(file)) bytes = gunzipSync(bytes, { maxOutputLength: DOCUMENT_BYTES_MAX });
  } catch {
    // The file is missing, unreadable, damaged or too long, and is skipped.
    return undefined;
  }
  if (bytes.length === 0 || bytes.length > DOCUMENT_BYTES_MAX || bytes.includes(0)) return undefined;
  return decodeText(bytes);
}

/** Decodes UTF-8, or Windows-1252, the encoding of older documentation. */
function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** The first heading in the format of the file, else its name. */
function titleOf(content: string, name: string): string {
  const found = /\.[1-9]\w*$/.test(name)
    ? manualTitle(content)
    : (markdownTitle(content) ?? htmlTitle(content));
  return found?.trim() || name;
}

function markdownTitle(content: string): string | undefined {
  // In a shell example a line that starts with # is a comment.
  return /^#{1,2}\s+(.+?)\s*#*$/m.exec(content.replace(/^```[\s\S]*?^```/gm, ''))?.[1];
}

/** `ls - list directory contents` of a manual page: the line below its first section heading. */
function manualTitle(content: string): string | undefined {
  const line = /^\.S[hH][^\n]*\n((?:\.Nm [^\n]*\n\.Nd )?[^\n]+)/m.exec(content)?.[1];
  return line
    ?.replace(/^\.Nm (.*)\n\.Nd /, '$1 - ')
    .replace(/\\f(?:\(..|\[[^\]]*\]|.)/g, '')
    .replace(/\\-/g, '-')
    .replace(/^\.\w+ /, '');
}

function htmlTitle(content: string): string | undefined {
  return /<title[^>]*>([^<]+)<\/title>/i.exec(content.slice(0, 4_096))?.[1];
}

/** Language tag of a translated manual page (`man/pt_BR/man1`) or a `README.de.md`; else English. */
function languageOf(file: string): string {
  const found =
    /\/man\/([a-z]{2}(?:_[A-Z]{2})?)(?:\.[\w-]+)?\/man\d/.exec(file)?.[1] ??
    /\.([a-z]{2}(?:[_-][A-Z]{2})?)\.(?:md|txt|rst|html)$/.exec(file)?.[1];
  return found?.replace('_', '-') ?? 'en';
}
