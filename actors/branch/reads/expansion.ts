import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withoutKey,
} from '#runtime/content/values/json-value.ts';
import type { PropertySelection, SelectedPart } from '#runtime/content/values/property-selection.ts';
import { EXPANDED_KEY, type ReferenceTarget, referenceTarget } from '#runtime/content/values/references.ts';

/** Most references expanded in one answer. */
export const EXPANDED_MAX = 1_000;

/** Most bytes of records used to expand the references of one answer. */
export const EXPANDED_BYTES_MAX = 1024 * 1024;

/** Values written between two pauses. */
const VALUES_PER_STEP = 512;

/** The target that a reference is expanded with. */
export interface ExpandedNode {
  /** The node object. */
  readonly text: string;
  /** Entity tag of the node, without quotes. */
  readonly tag: string;
}

/**
 * Renders the target node of a reference.
 *
 * @param bytesMax a longer record is not rendered
 * @returns undefined when the caller can see no such node; otherwise `bytes` is the size of its record
 */
export type ExpandTarget = (
  target: ReferenceTarget,
  bytesMax: number,
) => Generator<undefined, (ExpandedNode & { readonly bytes: number }) | undefined>;

/**
 * Expands the references of one answer, in the order of the answer: each gets a further key with its target node.
 * References beyond the bounds, and references to nodes that the caller cannot see, stay as stored. Targets are not
 * expanded further.
 *
 * @see docs/interface/reading.md#expanding-references
 */
export class Expansion {
  readonly #selection: PropertySelection;
  readonly #expand: ExpandTarget;
  readonly #marks: string[] = [];
  /**
   * Targets that are missing, not visible or too large. They stay so, and reading a large node again takes
   * milliseconds.
   */
  readonly #plain = new Set<string>();
  #bytesLeft = EXPANDED_BYTES_MAX;
  #written = 0;

  /** @param selection the properties whose references are expanded */
  constructor(selection: PropertySelection, expand: ExpandTarget) {
    this.#selection = selection;
    this.#expand = expand;
  }

  /**
   * Names of the properties and tags of the nodes inserted into the answer so far; the tag of the answer depends on
   * them.
   */
  get marks(): readonly string[] {
    return [...this.#selection.names, ...this.#marks];
  }

  /** The text of properties with their references expanded; yields where the work may pause. */
  *text(properties: JsonObject): Generator<undefined, string> {
    const pieces: string[] = [];
    let opening = '{';
    for (const name in properties) {
      pieces.push(`${opening}${JSON.stringify(name)}:`);
      opening = ',';
      yield* this.#write(properties[name] as JsonValue, this.#selection.partOf(name), pieces);
    }
    return opening === '{' ? '{}' : `${pieces.join('')}}`;
  }

  *#write(value: JsonValue, part: SelectedPart | undefined, pieces: string[]): Generator<undefined, void> {
    this.#written += 1;
    if (this.#written % VALUES_PER_STEP === 0) yield undefined;
    if (part === undefined || typeof value !== 'object' || value === null) {
      for (const piece of jsonPieces(value)) {
        pieces.push(piece);
        yield undefined;
      }
    } else if (isJsonArray(value)) {
      let opening = '[';
      for (const item of value) {
        pieces.push(opening);
        opening = ',';
        yield* this.#write(item, part, pieces);
      }
      pieces.push(opening === '[' ? '[]' : ']');
    } else if (isJsonObject(value)) yield* this.#writeObject(value, part, pieces);
  }

  *#writeObject(object: JsonObject, part: SelectedPart, pieces: string[]): Generator<undefined, void> {
    const target = part.isWhole ? referenceTarget(object) : undefined;
    if (target !== undefined) {
      pieces.push(yield* this.#reference(object, target));
      return;
    }
    let opening = '{';
    for (const key in object) {
      pieces.push(`${opening}${JSON.stringify(key)}:`);
      opening = ',';
      const inner = part.isWhole ? part : part.inner.get(key);
      yield* this.#write(object[key] as JsonValue, inner, pieces);
    }
    pieces.push(opening === '{' ? '{}' : '}');
  }

  *#reference(reference: JsonObject, target: ReferenceTarget): Generator<undefined, string> {
    const text = JSON.stringify(reference);
    if (this.#marks.length >= EXPANDED_MAX) return text;
    const key = JSON.stringify([target.workspace, target.ref]);
    const node = this.#plain.has(key) ? undefined : yield* this.#expand(target, this.#bytesLeft);
    this.#marks.push(node?.tag ?? '');
    yield undefined;
    if (node === undefined) {
      this.#plain.add(key);
      return text;
    }
    this.#bytesLeft -= node.bytes;
    const stored = JSON.stringify(withoutKey(reference, EXPANDED_KEY));
    return `${stored.slice(0, -1)},${JSON.stringify(EXPANDED_KEY)}:${node.text}}`;
  }
}
