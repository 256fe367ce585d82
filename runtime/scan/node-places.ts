import { bytesText, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { StoredValue } from '#runtime/shard/large-value.ts';
import { storedRows } from '#runtime/shard/value-in-steps.ts';
import type { Moment } from './moment.ts';
import {
  PART_BYTES,
  type PartBounds,
  type Place,
  type PlacePart,
  type PlaceSource,
  readBytes,
} from './places.ts';
import { behind, unitedKeys } from './united-keys.ts';

/** Every node of a workspace in the order of ids. The position is the id as bytes. */
export class NodePlaces implements PlaceSource {
  readonly #moment: Moment;
  readonly #workspace: string;

  constructor(moment: Moment, workspace: string) {
    this.#moment = moment;
    this.#workspace = workspace;
  }

  *part({ after, most, reverse }: PartBounds): Generator<undefined, PlacePart> {
    const { reader } = this.#moment;
    const prefix = this.#workspace + END;
    const range = { ...underParts(this.#workspace), reverse };
    const last = after === undefined ? undefined : prefix + after;
    const places: Place[] = [];
    const add = (key: string, present: StoredValue | undefined): void => {
      const position = key.slice(prefix.length);
      places.push({ position, id: bytesText(position), present });
    };
    if (this.#moment.at !== undefined) {
      const tables = { head: BranchTable.nodes, versions: BranchTable.nodeVersions };
      const { keys, next } = unitedKeys(reader, tables, range, last, most);
      for (const { key, present } of keys) add(key, present);
      return next === undefined ? { places } : { places, next: next.slice(prefix.length) };
    }
    const bounds = last === undefined ? range : behind(range, last);
    let bytes = 0;
    for (const { key, value } of storedRows(reader, BranchTable.nodes, bounds)) {
      add(key, value);
      bytes += readBytes(value);
      if (places.length >= most || bytes >= PART_BYTES) return { places, next: key.slice(prefix.length) };
    }
    return { places };
  }
}
