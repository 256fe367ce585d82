import { Buffer } from 'node:buffer';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { ValueChange } from '#runtime/content/values/value-changes.ts';
import type { Changes } from './node-changes.ts';

/** Largest JSON of a shown value, in bytes; of a larger value only the size is shown. */
export const VALUE_BYTES_MAX = 8 * 1024;

/** Most changes listed for one entry. */
export const ENTRY_CHANGES_MAX = 100;

/** Most characters of the changes of one entry. */
export const ENTRY_CHARACTERS_MAX = 64 * 1024;

/** Most characters of the changes of one answer. */
export const ANSWER_CHARACTERS_MAX = 1024 * 1024;

/** The fields of an entry without listed changes. */
const CUT_OFF = ',"changes":[],"truncated":true';

/**
 * Writes the changes of the entries of one answer, within its bounds. An entry without all of its changes has
 * `truncated`.
 *
 * @see docs/interface/branches.md#changed-properties
 */
export class ChangeTexts {
  #left = ANSWER_CHARACTERS_MAX;
  #isTruncated = false;

  /** Whether there is no room for another entry: then its changes need not be computed. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Whether an entry was cut off. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** The fields of an entry whose changes are not shown. */
  cutOff(): string {
    this.#isTruncated = true;
    return CUT_OFF;
  }

  /** The fields with the changes of an entry, to be appended to its other fields. Yields where the work may pause. */
  *of(changes: Changes): Generator<undefined, string> {
    if (this.isFull) return this.cutOff();
    const texts: string[] = [];
    let room = Math.min(ENTRY_CHARACTERS_MAX, this.#left);
    let isWhole = true;
    for (const change of changes) {
      if (change === undefined) {
        yield;
        continue;
      }
      const text = yield* changeText(change);
      isWhole = texts.length < ENTRY_CHANGES_MAX && text.length <= room;
      if (!isWhole) break;
      texts.push(text);
      room -= text.length;
    }
    const listed = `,"changes":[${texts.join(',')}]`;
    // The first entry that does not fit into the answer is the last one processed.
    const isLast = !isWhole && texts.length < ENTRY_CHANGES_MAX && this.#left < ENTRY_CHARACTERS_MAX;
    this.#left = isLast ? 0 : this.#left - listed.length;
    if (isWhole) return listed;
    this.#isTruncated = true;
    return `${listed},"truncated":true`;
  }
}

function* changeText({ after, before, path }: ValueChange): Generator<undefined, string> {
  return `{"path":${JSON.stringify(path)}${yield* sideText('before', before)}${yield* sideText('after', after)}}`;
}

/** The field of one side; none if the side has no value. */
function* sideText(side: 'before' | 'after', value: JsonValue | undefined): Generator<undefined, string> {
  if (value === undefined) return '';
  let bytes = 0;
  let text = '';
  for (const piece of jsonPieces(value)) {
    bytes += Buffer.byteLength(piece);
    if (bytes <= VALUE_BYTES_MAX) text += piece;
    yield;
  }
  return bytes <= VALUE_BYTES_MAX ? `,"${side}":${text}` : `,"${side}_bytes":${bytes}`;
}
