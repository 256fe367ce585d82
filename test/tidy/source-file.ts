import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';

import { type ScannedSource, scanSource } from './scan-source.ts';

/** Folder of the project. */
export const projectRoot = join(import.meta.dirname, '..', '..');

/** Folders of the product itself; the others serve it. */
export const productFolders = ['runtime', 'actors', 'protocols', 'cluster', 'operator', 'server'] as const;

/** Folders that are not ours to keep tidy. */
const skippedFolders = new Set(['node_modules', '.git', 'data', 'test-results', 'dist', 'coverage']);

/** One import or re-export. */
export interface Import {
  /** What stands between the quotes. */
  readonly specifier: string;
  /** Line of the file, from 1. */
  readonly line: number;
  /** `export … from`. */
  readonly isReExport: boolean;
}

/** A source file, with what the rules want to know of it. */
export interface SourceFile extends ScannedSource {
  /** Path from the project's folder, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

/** A broken rule: where, which, and what to do. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly remedy: string;
}

/** One line a violation, as compilers print them, so that editors can jump there. */
export function formatViolations(violations: readonly Violation[]): string {
  return violations.map(({ path, line, rule, remedy }) => `${path}:${line}: ${rule}: ${remedy}`).join('\n');
}

/** A file made of text, for the rules' own tests and for {@link readSources}. */
export function sourceFile(path: string, text: string): SourceFile {
  const scanned = scanSource(text);
  return { path, text, ...scanned, imports: importsOf(scanned) };
}

/** Every TypeScript file of the project. */
export function readSources(root = projectRoot): SourceFile[] {
  return listFiles(root, (name) => name.endsWith('.ts')).map((path) =>
    sourceFile(path, readFileSync(join(root, path), 'utf8')),
  );
}

/** Paths of all files whose name the filter takes, sorted, with `/`. */
export function listFiles(root: string, takes: (name: string) => boolean): string[] {
  const found: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) walk(join(folder, entry.name));
      if (entry.isFile() && takes(entry.name)) {
        found.push(relative(root, join(folder, entry.name)).split(sep).join('/'));
      }
    }
  };
  walk(root);
  return found.sort();
}

/** Line, from 1, of a position. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** The first two folders of a path: `runtime/config` of `runtime/config/option.ts`. */
export function areaOf(path: string): string {
  const parts = path.split('/');
  return parts.slice(0, Math.min(2, parts.length - 1)).join('/');
}

/** The first folder of a path. */
export function topOf(path: string): string {
  return path.split('/', 1)[0] as string;
}

/** The file of ours that an import names, as a path from the project's folder; `undefined` for a package. */
export function targetOf(file: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1);
  if (!specifier.startsWith('.')) return undefined;
  return posix.normalize(posix.join(posix.dirname(file.path), specifier));
}

const importShapes = [
  /\b(import)\s+(?:type\s+)?(?:[\w$\s{},]|\*)*?\bfrom\s*(['"])([^'"\n]+)\2/g,
  /\b(export)\s+(?:type\s+)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(['"])([^'"\n]+)\2/g,
  /\b(import)\s*(['"])([^'"\n]+)\2/g,
  /\b(import)\s*\(\s*(['"])([^'"\n]+)\2/g,
];

function importsOf({ code, withTexts }: ScannedSource): Import[] {
  const imports: Import[] = [];
  for (const shape of importShapes) {
    for (const match of withTexts.matchAll(shape)) {
      // The word must be code: a text that quotes an import is none.
      if (code[match.index] === ' ') continue;
      imports.push({
        specifier: match[3] as string,
        line: lineAt(withTexts, match.index),
        isReExport: match[1] === 'export',
      });
    }
  }
  return imports.sort((a, b) => a.line - b.line);
}
