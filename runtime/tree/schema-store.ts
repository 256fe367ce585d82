import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import type { Archetype } from '#runtime/content/definitions/archetype.ts';
import type { ElementType } from '#runtime/content/definitions/element-type.ts';
import type { NodeType } from '#runtime/content/definitions/node-type.ts';
import {
  compareRevisions,
  decodeRevisionDescending,
  formatRevision,
  parseRevision,
  REVISION_BYTES,
  type Revision,
} from '#runtime/content/revision.ts';
import { type ResolvedSource, SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { bytesText } from '#runtime/shard/binary-key.ts';
import { decodeExactJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import {
  BranchTable,
  definitionKey,
  definitionVersionKey,
  definitionVersionsUpTo,
  underParts,
} from '#runtime/shard/key-layout.ts';
import { peekWhole } from '#runtime/shard/value-in-steps.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { StateAt } from './state-at.ts';

/** Families of stored definitions; mixins are node types with `is_mixin`. */
export const storedKinds = ['node_type', 'archetype', 'element_type'] as const;

/** A family of stored definitions. */
export type StoredKind = (typeof storedKinds)[number];

/** The stored type of each family. */
export interface DefinitionOf {
  node_type: NodeType;
  archetype: Archetype;
  element_type: ElementType;
}

/** A definition as it is stored. */
export interface StoredDefinition<K extends StoredKind> {
  /** The revision that wrote it. */
  readonly since: string;
  readonly definition: DefinitionOf[K];
}

/** Key of the meta row with the revision of the newest schema change. */
const STAMP_KEY = 'schema';

function parse<K extends StoredKind>(bytes: Uint8Array): StoredDefinition<K> {
  return decodeExactJsonRow(bytes) as StoredDefinition<K>;
}

/** The revision of the newest schema change; it identifies one state of the schema. */
export function schemaStamp(reader: TableReader): string {
  const bytes = peekWhole(reader, CommonTable.meta, STAMP_KEY);
  if (bytes === undefined) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).latin1Slice(0, bytes.length);
}

/** A definition at the head, or at a revision. */
export function readDefinition<K extends StoredKind>(
  reader: TableReader,
  kind: K,
  name: string,
  at?: Revision,
): DefinitionOf[K] | undefined {
  return storedDefinition(reader, kind, name, at)?.definition;
}

/** As {@link readDefinition}, with the revision that wrote it. */
export function storedDefinition<K extends StoredKind>(
  reader: TableReader,
  kind: K,
  name: string,
  at?: Revision,
): StoredDefinition<K> | undefined {
  const bytes = reader.get(BranchTable.definitions, definitionKey(kind, name));
  const present = bytes === undefined ? undefined : parse<K>(bytes);
  if (at === undefined) return present;
  const state = new StateAt(reader, at);
  const since = present === undefined ? undefined : parseRevision(present.since);
  const belongs = since !== undefined && state.belongs(since);
  const range = definitionVersionsUpTo(kind, name, at);
  for (const { key, value } of reader.range(BranchTable.definitionVersions, range)) {
    const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
    if (!state.belongs(written)) continue;
    // The present definition is the newer one, unless the head was moved back before this version.
    if (belongs && compareRevisions(since, written) >= 0) return present;
    return value.length === 0 ? undefined : parse<K>(value);
  }
  return belongs ? present : undefined;
}

/**
 * Restores a definition to its state at an earlier revision, or removes it. The present definition stays readable at
 * the revisions it belongs to; no version of it is written.
 */
export function restoreDefinition<K extends StoredKind>(
  turn: Turn,
  kind: K,
  name: string,
  stored: StoredDefinition<K> | undefined,
): void {
  const key = definitionKey(kind, name);
  const bytes = turn.get(BranchTable.definitions, key);
  if (bytes !== undefined) {
    const since = parseRevision(parse(bytes).since);
    turn.put(BranchTable.definitionVersions, definitionVersionKey(kind, name, since), bytes);
  }
  if (stored === undefined) turn.remove(BranchTable.definitions, key);
  else turn.put(BranchTable.definitions, key, encodeJsonRow(stored));
  stamp(turn);
}

/** All definitions of a family, sorted by name. Cost follows their number; for the past, the number of versions. */
export function listDefinitions<K extends StoredKind>(
  reader: TableReader,
  kind: K,
  at?: Revision,
): readonly DefinitionOf[K][] {
  if (at === undefined) {
    const present: DefinitionOf[K][] = [];
    for (const { value } of reader.range(BranchTable.definitions, underParts(kind)))
      present.push(parse<K>(value).definition);
    return present;
  }
  const names = new Set<string>();
  const start = kind.length + 1;
  for (const { key } of reader.range(BranchTable.definitions, underParts(kind)))
    names.add(bytesText(key.slice(start)));
  for (const { key } of reader.range(BranchTable.definitionVersions, underParts(kind))) {
    // The name is followed by a zero byte and ten bytes of revision.
    names.add(bytesText(key.slice(start, key.length - 11)));
  }
  const found = [...names].sort().map((name) => readDefinition(reader, kind, name, at));
  return found.filter((definition) => definition !== undefined);
}

/** Stores a definition at the turn's revision; the replaced one becomes history. */
export function writeDefinition<K extends StoredKind>(
  turn: Turn,
  kind: K,
  definition: DefinitionOf[K],
): void {
  keepVersion(turn, kind, definition.name);
  const stored: StoredDefinition<K> = { since: formatRevision(turn.revision), definition };
  turn.put(BranchTable.definitions, definitionKey(kind, definition.name), encodeJsonRow(stored));
  stamp(turn);
}

/** Removes a definition at the turn's revision. */
export function removeDefinition(turn: Turn, kind: StoredKind, name: string): void {
  keepVersion(turn, kind, name);
  turn.remove(BranchTable.definitions, definitionKey(kind, name));
  turn.put(
    BranchTable.definitionVersions,
    definitionVersionKey(kind, name, turn.revision),
    new Uint8Array(0),
  );
  stamp(turn);
}

function keepVersion(turn: Turn, kind: StoredKind, name: string): void {
  const bytes = turn.get(BranchTable.definitions, definitionKey(kind, name));
  if (bytes === undefined) return;
  const since = parseRevision(parse(bytes).since);
  if (compareRevisions(since, turn.revision) === 0) return;
  turn.put(BranchTable.definitionVersions, definitionVersionKey(kind, name, since), bytes);
}

function stamp(turn: Turn): void {
  turn.put(CommonTable.meta, STAMP_KEY, Buffer.from(formatRevision(turn.revision), 'latin1'));
}

/** Resolved schemas in the cache; each is one state of the schema with one set of pins. */
const RESOLVERS_MAX = 24;

/** Identifies a state of the schema. */
export interface SchemaMoment {
  /** Absent: the head. */
  readonly at?: Revision;
  /** Node types that a workspace pins to an earlier revision. */
  readonly pins?: Readonly<Record<string, string | null>>;
}

/**
 * A cache of resolved schemas, by the stamp of the schema. A stamp is never used twice, so nothing must be invalidated
 * when a command is rolled back. Only a command that changes the schema and then reads it must call {@link forget}.
 *
 * One cache serves readers of one kind (commands, or durable queries). Definitions are read on first use, through the
 * reader given last, which shows the state its stamp names.
 */
export class SchemaCache {
  readonly #resolvers = new Map<string, ResolvedSource>();
  #reader: TableReader | undefined;
  /** Generation of the reader given last. A command's reader has none: its schema changes only with {@link forget}. */
  #generation: number | undefined;
  #stamp = '';
  /** The schema returned last for the head, with its pins. A command asks for it several times. */
  #last: { readonly pins: SchemaMoment['pins']; readonly resolved: ResolvedSource } | undefined;

  /** The schema as a reader sees it. Use it within the same turn of the event loop. */
  get(reader: TableReader, moment: SchemaMoment = {}): ResolvedSource {
    if (reader !== this.#reader || reader.generation !== this.#generation) {
      this.#reader = reader;
      this.#generation = reader.generation;
      const stamp = schemaStamp(reader);
      if (stamp !== this.#stamp) this.#last = undefined;
      this.#stamp = stamp;
    }
    const isHead = moment.at === undefined;
    if (isHead && this.#last !== undefined && this.#last.pins === moment.pins) return this.#last.resolved;
    const resolved = this.#resolved(moment);
    if (isHead) this.#last = { pins: moment.pins, resolved };
    return resolved;
  }

  #resolved(moment: SchemaMoment): ResolvedSource {
    const at = moment.at === undefined ? '' : formatRevision(moment.at);
    const key = `${this.#stamp}|${at}|${pinsText(moment.pins)}`;
    const known = this.#resolvers.get(key);
    if (known !== undefined) return known;
    const made = resolverOver(() => this.#reader as TableReader, moment);
    if (this.#resolvers.size >= RESOLVERS_MAX)
      this.#resolvers.delete(this.#resolvers.keys().next().value as string);
    this.#resolvers.set(key, made);
    return made;
  }

  /** Releases the reader given last, which may hold all writes of a command; for when no command is running. */
  release(): void {
    this.#reader = undefined;
  }

  /** Clears the cache. */
  forget(): void {
    this.#resolvers.clear();
    this.#last = undefined;
    this.#reader = undefined;
  }
}

/** Pins as text, by identity: a workspace returns the same object until it is changed. */
const pinsTexts = new WeakMap<object, string>();

function pinsText(pins: SchemaMoment['pins']): string {
  if (pins === undefined) return '';
  let text = pinsTexts.get(pins);
  if (text === undefined) {
    text = Object.keys(pins).length === 0 ? '' : JSON.stringify(pins);
    pinsTexts.set(pins, text);
  }
  return text;
}

/** The schema as a reader sees it, for reads that keep a pinned reader over several turns. */
export function resolverOver(reader: () => TableReader, moment: SchemaMoment): ResolvedSource {
  const { pins = {} } = moment;
  const pinOf = (name: string): string | undefined =>
    (Object.hasOwn(pins, name) ? pins[name] : undefined) ?? undefined;
  return new SchemaResolver({
    pinOf,
    nodeType: (name) => {
      const pin = pinOf(name);
      return readDefinition(reader(), 'node_type', name, pin === undefined ? moment.at : parseRevision(pin));
    },
    archetype: (name) => readDefinition(reader(), 'archetype', name, moment.at),
    elementType: (name) => readDefinition(reader(), 'element_type', name, moment.at),
  });
}
