import { createHash } from 'node:crypto';
import { type Dirent, existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { documentName } from './read-document.ts';

/** A folder of this machine that is imported as a folder of the workspace. */
export interface Source {
  readonly folder: string;
  /** Whether a file is documentation, by its name. */
  readonly takes: (name: string) => boolean;
  /** Last segment of its path in the workspace. */
  readonly name: string;
}

/** A folder to import as a node. */
export interface FoundFolder {
  /** Path in the workspace. */
  readonly path: string;
  readonly title: string;
  /** Files found below it, at any depth. */
  readonly files: number;
}

/** A file to import as a node. */
export interface FoundDocument {
  readonly path: string;
  readonly file: string;
}

/** Everything to import; parents come before their children. */
export interface Found {
  readonly folders: readonly FoundFolder[];
  readonly documents: readonly FoundDocument[];
}

/** Folders without documentation. */
const skippedFolders = new Set(['.git', '.cache']);

/** Deepest level of folders that is searched. */
const DEPTH_MAX = 20;

const isReadable = (name: string): boolean =>
  /^(readme|changelog|changes|news|authors|copying|licen[cs]e|copyright|faq|todo)\b/i.test(name) ||
  /\.(md|markdown|txt|rst|adoc|html|[1-9]\w{0,4})(\.gz)?$/i.test(name) ||
  /^changelog\.\w+\.gz$/i.test(name);

/** Usual places of documentation: the packages of this project, the packages of the system, the manual. */
export function usualSources(projectFolder: string): Source[] {
  const isReadme = (name: string): boolean => /^(readme|changelog)\b|\.md$/i.test(name);
  return [
    { folder: join(projectFolder, 'node_modules'), takes: isReadme, name: 'packages' },
    { folder: '/usr/share/doc', takes: isReadable, name: 'doc' },
    { folder: '/usr/share/man', takes: isReadable, name: 'man' },
  ].filter(({ folder }) => existsSync(folder));
}

/** A folder named by the user, with every file that may be text. */
export function namedSource(folder: string): Source {
  const path = resolve(folder);
  return { folder: path, takes: () => true, name: nodeName(basename(path) || 'files') };
}

/**
 * Finds at most a number of files in the sources, in the same order in every run. A source takes no more than its share
 * while other sources follow, so that every source is represented. Symbolic links are skipped: their targets are found
 * in their own folder or are outside of the sources.
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
    // A folder without documents below it is skipped. Its own folders were skipped before.
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

/** The entries sorted by name. Folders of the English manual come before folders of translations. */
function entriesOf(folder: string): Dirent[] {
  const place = (name: string): string => (/^man\d$/.test(name) ? ` ${name}` : name);
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      place(a.name) < place(b.name) ? -1 : 1,
    );
  } catch {
    // The folder cannot be read.
    return [];
  }
}

/** The node name Grove derives from a file name. */
function nodeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/\s+/g, '-')
    .replace(/[^a-z0-9_.-]/g, '')
    .replace(/-{2,}/g, '-')
    .replace(/^-+|-+$/g, '');
}

/**
 * Two files of a folder may get the same node name (`README` and `readme`). The second one gets a hash of its file name
 * as suffix, so that its name is the same in every run.
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
