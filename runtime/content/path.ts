import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';

/** The longest node name, in UTF-8 bytes. */
export const NAME_BYTES_MAX = 255;
/**
 * The longest name before sanitising, in UTF-16 units. Sanitising may drop characters and fold runs of spaces and
 * dashes to one, so the given form of a valid name may be longer than {@link NAME_BYTES_MAX}. Sixteen times the length
 * leaves room for every title a person writes, and limits the work.
 */
export const RAW_NAME_LENGTH_MAX = 16 * NAME_BYTES_MAX;
/**
 * The longest path that can be stored, in UTF-8 bytes. Writes are limited by `[limits] path_bytes_max`, which is at
 * most this. A tree of short names may be thousands of levels deep.
 */
export const PATH_BYTES_MAX = 8192;

const alreadyClean = /^[a-z0-9_.]+(?:-[a-z0-9_.]+)*$/;
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Makes the last segment of a path from a given name: trimmed, lower-case, spaces as `-`, all characters outside
 * `a-z 0-9 - _ .` dropped. Letters outside ASCII are dropped, not transliterated.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a name that is empty (before or after), `.`, `..`, too long (after, or
 *   over {@link RAW_NAME_LENGTH_MAX} before), or contains a `/` or a control character
 * @see docs/interface/nodes.md#names-of-nodes
 */
export function sanitizeName(raw: string): string {
  if (raw.length <= NAME_BYTES_MAX && alreadyClean.test(raw) && raw !== '.' && raw !== '..') return raw;
  if (raw.length > RAW_NAME_LENGTH_MAX) throw tooLong();
  const trimmed = raw.trim();
  if (trimmed === '') throw invalid('Node name must not be empty', { field: 'name' });
  if (trimmed.includes('/')) throw invalid("Node name must not contain '/'", { field: 'name' });
  if (controlCharacters.test(trimmed)) {
    throw invalid('Node name must not contain control characters', { field: 'name' });
  }
  const name = trimmed
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/\s+/g, '-')
    .replace(/[^a-z0-9_.-]/g, '')
    .replace(/-+/g, '-')
    .replace(/^-|-$/g, '');
  if (name === '') throw invalid('Node name has no letter or digit that may be kept', { field: 'name' });
  if (name === '.' || name === '..') throw invalid(`Node name must not be '${name}'`, { field: 'name' });
  if (name.length > NAME_BYTES_MAX) throw tooLong();
  return name;
}

function tooLong(): ServiceError {
  return invalid(`Node name is longer than ${NAME_BYTES_MAX} bytes`, { field: 'name' });
}

/** The path of the parent; the root is its own parent. */
export function parentPath(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}

/** The last segment; empty for the root. */
export function pathName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The value of the node field `parent`: the name of the parent node, `/` for a node at the root. */
export function parentName(path: string): string {
  const end = path.lastIndexOf('/');
  if (end <= 0) return '/';
  return path.slice(path.lastIndexOf('/', end - 1) + 1, end);
}

/**
 * The path of a child.
 *
 * @param name a sanitized name, see {@link sanitizeName}
 * @throws {ServiceError} `VALIDATION_FAILED` when the path would be too long
 */
export function joinPath(parent: string, name: string): string {
  return requireShortPath(parent === '/' ? `/${name}` : `${parent}/${name}`);
}

/** The names along a path, outermost first; none for the root. */
export function pathSegments(path: string): string[] {
  return path === '/' ? [] : path.slice(1).split('/');
}

/** The number of segments; 0 for the root. */
export function pathDepth(path: string): number {
  if (path === '/') return 0;
  let depth = 0;
  for (let index = path.indexOf('/'); index !== -1; index = path.indexOf('/', index + 1)) depth += 1;
  return depth;
}

/** Whether `path` is below `ancestor`; a path is not below itself. */
export function isDescendantPath(path: string, ancestor: string): boolean {
  if (ancestor === '/') return path !== '/';
  return (
    path.length > ancestor.length && path.charCodeAt(ancestor.length) === 47 && path.startsWith(ancestor)
  );
}

/**
 * The new path of a node when `from` moves to `to`.
 *
 * @param path `from` itself or a path below it
 * @throws {ServiceError} `VALIDATION_FAILED` when the new path would be too long
 */
export function rebasePath(path: string, from: string, to: string): string {
  if (path === from) return to;
  const rest = from === '/' ? path : path.slice(from.length);
  return requireShortPath(to === '/' ? rest : to + rest);
}

/**
 * Reads a path in a body (`targetPath`, `new_path`). A missing leading slash and a trailing one are accepted;
 * everything else must be exact, because two spellings of one path would be two nodes.
 *
 * @param field the body field, for the message
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function parsePath(text: string, field = 'path'): string {
  let path = text.startsWith('/') ? text : `/${text}`;
  if (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1);
  requireShortPath(path, field);
  if (path === '/') return path;
  if (controlCharacters.test(path)) throw invalid(`'${field}' has a control character`, { field });
  for (const segment of pathSegments(path)) {
    if (segment === '' || segment === '.' || segment === '..') {
      throw invalid(`'${field}' has the segment '${segment}', which is not allowed`, { field });
    }
  }
  return path;
}

/**
 * Refuses a path over a limit of UTF-8 bytes.
 *
 * @param present a path that may exceed the limit; paths up to its length are accepted as well
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireShortPath(
  path: string,
  field = 'path',
  bytesMax = PATH_BYTES_MAX,
  present = '',
): string {
  // A UTF-16 unit is at most three UTF-8 bytes, so short strings need no count.
  if (
    path.length * 3 > bytesMax &&
    Buffer.byteLength(path) > Math.max(bytesMax, Buffer.byteLength(present))
  ) {
    throw invalid(`The path is longer than ${bytesMax} bytes`, { field });
  }
  return path;
}
