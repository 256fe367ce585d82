import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '#test/tidy/source-file.ts';

/** A fenced block of a document. */
export interface DocumentBlock {
  /** What stands behind the fence: `bash`; empty where nothing does. */
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a document in order, without the indent of the list they stand in. */
export function documentBlocks(path: string): readonly DocumentBlock[] {
  const document = readFileSync(join(projectRoot, path), 'utf8');
  return [...document.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map(([, indent, language, text]) => ({
    language: language as string,
    text: (text as string).replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
