import { createHash } from 'node:crypto';
import { type Dirent, existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { documentName } from './read-document.ts';

/** A folder of the machine that becomes a folder of the workspace. */
export interface Source {
  readonly folder: string;
  /** Which of its files are documentation, by their name. */
  readonly takes: (name: string) => boolean;
  /** Last segment of its path in the workspace. */
  readonly name: string;
}

/** A folder that will be a node. */
export interface FoundFolder {
  /** Path in the workspace. */
  readonly path: string;
  readonly title: string;
  /** Files found below it, however deep. */
  readonly files: number;
}

/** A file that will be a node. */
export interface FoundDocument {
  readonly path: string;
  readonly file: string;
}

/** Everything to be imported; parents come before their children. */
export interface Found {
  readonly folders: readonly FoundFolder[];
  readonly documents: readonly FoundDocument[];
}

/** Folders that hold no documentation of their own. */
const skippedFolders = new Set(['.git', '.cache']);

/** Levels of folders that are looked into. */
const DEPTH_MAX = 20;

const isReadable = (name: string): boolean =>
  /^(readme|changelog|changes|news|authors|copying|licen[cs]e|copyright|faq|todo)\b/i.test(name) ||
  /\.(md|markdown|txt|rst|adoc|html|[1-9]\w{0,4})(\.gz)?$/i.test(name) ||
  /^changelog\.\w+\.gz$/i.test(name);

/** Where documentation usually is: the packages of this project, the system's packages, the manual. */
export function usualSources(projectFolder: string): Source[] {
  const isReadme = (name: string): boolean => /^(readme|changelog)\b|\.md$/i.test(name);
  return [
    { folder: join(projectFolder, 'node_modules'), takes: isReadme, name: 'packages' },
    { folder: '/usr/share/doc', takes: isReadable, name: 'doc' },
    { folder: '/usr/share/man', takes: isReadable, name: 'man' },
  ].filter(({ folder }) => existsSync(folder));
}

/** A folder somebody named: every file in it that may be text. */
export function namedSource(folder: string): Source {
  const path = resolve(folder);
  return { folder: path, takes: () => true, name: nodeName(basename(path) || 'files') };
}

/**
 * Finds the files of the sources, up to a number of them, in an order that is the same every time. A source
 * takes no more than its share as long as others follow it, so that there is something of each. Symbolic links
 * are left out: what they lead to is found at its own place, or is none of our business.
 */
export function findDocuments(sources: readonly Source[], documentsMax: number): Found {
  const folders: FoundFolder[] = [];
  const documents: FoundDocument[] = [];
  const taken = new Map<string, Set<string>>();
  let shareEnd = 0;
  const enter = (source: Source, folder: string, path: string, title: string, depth: number): void => {
    const at = folders.length;
    const before = documents.length;
    folders.push({ path, title, files: 0 });
    for (const entry of entriesOf(folder)) {
      if (documents.length >= shareEnd) break;
      const child = join(folder, entry.name);
      const childPath = `${path}/${uniqueName(taken, path, entry.isDirectory() ? entry.name : documentName(entry.name))}`;
      if (entry.isDirectory() && depth < DEPTH_MAX && !skippedFolders.has(entry.name)) {
        enter(source, child, childPath, entry.name, depth + 1);
      } else if (entry.isFile() && source.takes(entry.name)) {
        documents.push({ path: childPath, file: child });
      }
    }
    const count = documents.length - before;
    // A folder without any document below it is not worth a node; its own folders are gone already.
    if (count === 0) folders.splice(at);
    else folders[at] = { path, title, files: count };
  };
  for (const [index, source] of sources.entries()) {
    const left = documentsMax - documents.length;
    shareEnd = documents.length + Math.ceil(left / (sources.length - index));
    const path = `/${uniqueName(taken, '', source.name)}`;
    enter(source, source.folder, path, source.folder, 0);
  }
  return { folders, documents };
}

/** By name; the English manual, which stands among folders of translations, before those. */
function entriesOf(folder: string): Dirent[] {
  const place = (name: string): string => (/^man\d$/.test(name) ? ` ${name}` : name);
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      place(a.name) < place(b.name) ? -1 : 1,
    );
  } catch {
    // Not ours to read.
    return [];
  }
}

/** The name Grove would make of a file's name. */
function nodeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/\s+/g, '-')
    .replace(/[^a-z0-9_.-]/g, '')
    .replace(/-{2,}/g, '-')
    .replace(/^-+|-+$/g, '');
}

/**
 * Two files of a folder may come to the same name (`README` and `readme`). The second one gets a mark made of
 * its true name, so that it is the same in every run.
 */
function uniqueName(taken: Map<string, Set<string>>, parent: string, name: string): string {
  const names = taken.get(parent) ?? new Set<string>();
  taken.set(parent, names);
  const plain = nodeName(name);
  const isFree = plain !== '' && !/^\.{1,2}$/.test(plain) && !names.has(plain);
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let unique = isFree ? plain : nodeName(`${plain}-${mark}`);
  for (let copy = 2; names.has(unique); copy++) unique = `${nodeName(`${plain}-${mark}`)}-${copy}`;
  names.add(unique);
  return unique;
}
