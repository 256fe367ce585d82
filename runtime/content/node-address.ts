import { ServiceError } from '#runtime/errors/service-error.ts';
import { requireShortPath } from './path.ts';

/**
 * The target of a node route.
 *
 * - `node`: the node; `listing`: its children (the address ended in `/`)
 * - `property`: one property of it (`…@title`)
 * - `versions`, `version`: its manual versions, or one of them (`…/svc:version`, `…/svc:version/3`)
 * - `command`: a command on it (`…/svc:cmd/rename`, `…/svc:rename`)
 */
export type AddressForm = 'node' | 'listing' | 'property' | 'versions' | 'version' | 'command';

/** A parsed node address. Exactly one of `path` and `id` is set. */
export interface NodeAddress {
  readonly form: AddressForm;
  /** Decoded path, `/` for the workspace root; null when addressed by id. */
  readonly path: string | null;
  /** The id of `$ref/{id}`. */
  readonly id: string | null;
  /** Keys of the property path; may also be present for the form `command` (`…/page@file/svc:sign`). */
  readonly property: readonly string[] | null;
  /** The command as written; the caller checks that it exists. */
  readonly command: string | null;
  /** The number of `svc:version/{n}`. */
  readonly version: number | null;
}

const SLASH = 47;
const DOT = 46;

function badPath(message: string): ServiceError {
  return new ServiceError('INVALID_PATH', message);
}

function decode(raw: string): string {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch (cause) {
    throw new ServiceError('INVALID_PATH', `'${raw.slice(0, 80)}' is not valid percent-encoded UTF-8`, {
      cause,
    });
  }
}

function decodeSegment(raw: string): string {
  const segment = decode(raw);
  if (segment === '') throw badPath('A path segment is empty');
  if (segment === '.' || segment === '..') throw badPath(`A path segment must not be '${segment}'`);
  if (segment.includes('/'))
    throw badPath("A path segment has an encoded '/'; write the slashes of a path as they are");
  if (/[\u0000-\u001f\u007f]/.test(segment)) throw badPath('A path segment has a control character');
  return segment;
}

/**
 * Whether a tail is a plain path: clean segments, without encoding, property or command. Such a tail is its own decoded
 * path. Nearly every request has one, so it is recognized in one pass without allocation.
 */
function isPlainPath(tail: string): boolean {
  if (tail.charCodeAt(0) !== SLASH) return false;
  let segmentStart = 1;
  for (let index = 1; index <= tail.length; index += 1) {
    const code = index === tail.length ? SLASH : tail.charCodeAt(index);
    if (code === SLASH) {
      const length = index - segmentStart;
      if (length === 0) return false;
      if (length <= 2 && tail.charCodeAt(segmentStart) === DOT) {
        if (length === 1 || tail.charCodeAt(segmentStart + 1) === DOT) return false;
      }
      segmentStart = index + 1;
    } else if (code === 37 || code === 64 || code === 58 || code === 36 || code < 32 || code === 127) {
      return false; // % @ : $ or a control character
    }
  }
  return true;
}

/**
 * Parses the part of a node route after the workspace. It is split at `/` and `@` before percent-decoding, so an
 * encoded one is data; a name cannot contain `/`, so there it is refused.
 *
 * @param tail undecoded and without the query: empty or `/` for the root, else `/a/b` with an optional suffix
 * @returns for the empty tail the root node, for `/` the root listing
 * @throws {ServiceError} `INVALID_PATH`; `VALIDATION_FAILED` when the path is too long
 * @see docs/interface/nodes.md#addresses-of-nodes
 */
export function parseNodeAddress(tail: string): NodeAddress {
  if (tail.length > 1) {
    const isListing = tail.charCodeAt(tail.length - 1) === SLASH;
    const path = isListing ? tail.slice(0, -1) : tail;
    if (isPlainPath(path)) {
      requireShortPath(path);
      const form = isListing ? 'listing' : 'node';
      return { form, path, id: null, property: null, command: null, version: null };
    }
  }
  return parseRawSegments((tail.startsWith('/') ? tail.slice(1) : tail).split('/'), tail);
}

function parseRawSegments(rawSegments: readonly string[], tail: string): NodeAddress {
  let end = rawSegments.length;
  const isListing = tail.endsWith('/');
  if (isListing || tail === '') end -= 1;

  const suffix = takeSuffix(rawSegments, end);
  end = suffix.end;
  const property = end > 0 ? splitProperty(rawSegments[end - 1]!) : null;
  const place = readPlace(rawSegments, end, property?.rawName ?? null);

  let form: AddressForm = isListing ? 'listing' : 'node';
  if (suffix.form !== null) form = suffix.form;
  else if (property !== null) form = 'property';
  return {
    form,
    path: place.path,
    id: place.id,
    property: property?.keys ?? null,
    command: suffix.command,
    version: suffix.version,
  };
}

interface Suffix {
  /** Number of segments before the suffix. */
  readonly end: number;
  readonly form: 'versions' | 'version' | 'command' | null;
  readonly command: string | null;
  readonly version: number | null;
}

/** Removes `svc:version`, `svc:version/{n}`, `svc:cmd/{command}` or `svc:{command}` from the end. */
function takeSuffix(rawSegments: readonly string[], end: number): Suffix {
  const last = end > 0 ? decode(rawSegments[end - 1]!) : '';
  const beforeLast = end > 1 ? decode(rawSegments[end - 2]!) : '';
  if (beforeLast === 'svc:version') {
    if (!/^\d{1,15}$/.test(last)) throw badPath(`'${last.slice(0, 40)}' is not a version number`);
    return { end: end - 2, form: 'version', command: null, version: Number(last) };
  }
  if (beforeLast === 'svc:cmd')
    return { end: end - 2, form: 'command', command: requireCommand(last), version: null };
  if (last === 'svc:version') return { end: end - 1, form: 'versions', command: null, version: null };
  if (last.startsWith('svc:')) {
    const command = requireCommand(last.slice(4));
    if (command === 'cmd') throw badPath("'svc:cmd' must be followed by a command");
    return { end: end - 1, form: 'command', command, version: null };
  }
  return { end, form: null, command: null, version: null };
}

function requireCommand(command: string): string {
  if (command === '' || command.includes('/')) throw badPath('The command is empty or has an encoded slash');
  return command;
}

/**
 * Splits `page@a.b` at its last raw `@`. The property path is split at raw dots before decoding, so `%2E` is a dot
 * within a key.
 */
function splitProperty(raw: string): { rawName: string; keys: readonly string[] } | null {
  const at = raw.lastIndexOf('@');
  if (at === -1) return null;
  const keys = raw
    .slice(at + 1)
    .split('.')
    .map(decode);
  if (keys.includes('')) throw badPath(`'${raw.slice(at, at + 80)}' is not a property path`);
  return { rawName: raw.slice(0, at), keys };
}

function readPlace(
  rawSegments: readonly string[],
  end: number,
  lastRawName: string | null,
): { path: string | null; id: string | null } {
  const rawAt = (index: number): string =>
    index === end - 1 && lastRawName !== null ? lastRawName : rawSegments[index]!;
  // `…/ws/@title` and `…/ws/a/@title` both address the node before the slash.
  const last = lastRawName === '' ? end - 1 : end;
  for (let index = 0; index < end - 1; index += 1) {
    if (rawSegments[index]!.includes('@')) throw badPath('Only a command may follow a property');
  }
  if (last === 2 && decode(rawAt(0)) === '$ref') {
    const id = decode(rawAt(1));
    if (id === '' || id === '.' || id === '..' || id === '/') throw badPath(`'${id}' is not a node id`);
    return { path: null, id };
  }
  let path = '';
  for (let index = 0; index < last; index += 1) path += `/${decodeSegment(rawAt(index))}`;
  return { path: requireShortPath(path === '' ? '/' : path), id: null };
}
