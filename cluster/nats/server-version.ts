/** A version of nats-server. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Whether it is a preview that precedes the release of these numbers. */
  readonly isPreview: boolean;
}

const shape = /^v?(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?/;

/** Parses `2.9.10` or `2.12.0-RC.1`. @returns undefined for any other text */
export function parseServerVersion(text: string): ServerVersion | undefined {
  const match = shape.exec(text);
  if (match === null) return undefined;
  const [, major, minor, patch, preview] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    isPreview: preview !== undefined,
  };
}

/**
 * Returns whether a version has a feature or fix that some releases introduced. A fix is often released in several
 * minor versions, each from a patch version on. A minor version between them that is not listed lacks it; one above
 * the last has it.
 *
 * @param floors releases, lowest first: `['2.12.12', '2.14.4']`
 */
export function isAtLeast(version: ServerVersion, floors: readonly string[]): boolean {
  const parsed = floors.map((floor) => parseServerVersion(floor) as ServerVersion);
  const last = parsed.at(-1) as ServerVersion;
  if (compareLines(version, last) > 0) return true;
  return parsed.some((floor) => compareLines(version, floor) === 0 && isFrom(version, floor));
}

/** Compares `major.minor`. */
function compareLines(a: ServerVersion, b: ServerVersion): number {
  return a.major - b.major || a.minor - b.minor;
}

function isFrom(version: ServerVersion, floor: ServerVersion): boolean {
  return version.patch > floor.patch || (version.patch === floor.patch && !version.isPreview);
}
