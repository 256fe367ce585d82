import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ActorId } from '#runtime/actor/ports.ts';
import { CommonTable, commonTableNames, type Turn } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { OutsideConsumer, ShardConsumer, StartStep } from '#runtime/feed/consumer.ts';
import { readConsumer } from '#runtime/feed/consumer-store.ts';
import type { FeedItem, FeedPosition, FeedStart } from '#runtime/feed/feed-batch.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import { feedAfter, nodesAt, partsOf } from './feed-reader.ts';
import { CONTENT } from './test-branch.ts';

const PREFIX = 'tally\0';

/** Where {@link PathTally} started, in its state. */
interface Began {
  readonly revision: string;
  readonly sequence: number;
}

/** What {@link PathTally} knows of a node: its path, and how many changes of it it has seen. */
export interface Tallied {
  readonly path: string;
  readonly seen: number;
}

/** A consumer that keeps, in the branch, the path of every node and how often it was changed. */
export class PathTally implements ShardConsumer {
  readonly effects = 'shard';
  readonly name: string;
  readonly isEverywhere: boolean;
  /** Told before each item; may throw. */
  readonly #before: (item: FeedItem) => void;
  readonly #nodesPerStep: number;

  constructor({
    name = 'tally',
    isEverywhere = true,
    before = (_item: FeedItem): void => {},
    nodesPerStep = Number.POSITIVE_INFINITY,
  } = {}) {
    this.name = name;
    this.isEverywhere = isEverywhere;
    this.#before = before;
    this.#nodesPerStep = nodesPerStep;
  }

  *start(
    turn: Turn,
    { position, reason, revision }: FeedStart,
    state: JsonValue | undefined,
  ): Generator<undefined, StartStep> {
    const { done } = (state ?? { done: 0 }) as { readonly done: number };
    if (state === undefined)
      for (const key of this.rows(turn).keys()) turn.remove(CommonTable.meta, this.#key(key));
    const nodes = [...nodesAt(turn, revision, [CONTENT])].sort(byKey);
    const end = done + this.#nodesPerStep;
    for (const [key, { header }] of nodes.slice(done, end)) {
      this.#put(turn, key, { path: header.path, seen: 0 });
      yield;
    }
    if (end < nodes.length) return { isDone: false, state: { done: end } };
    const began: Began = { revision, sequence: position.sequence };
    return { isDone: true, state: { starts: [reason], items: 0, began: { ...began } } };
  }

  *consume(turn: Turn, item: FeedItem, state: JsonValue): Generator<undefined, JsonValue> {
    this.#before(item);
    for (const change of item.changes?.changes ?? []) {
      this.#count(turn, change);
      yield;
    }
    const { items } = state as { readonly items: number };
    return { ...(state as JsonObject), items: items + 1 };
  }

  /** What it has written. */
  rows(reader: TableReader): Map<string, Tallied> {
    const start = this.#key('');
    const rows = reader.range(CommonTable.meta, { start, end: `${start}\u00ff` });
    return new Map(
      [...rows].map(({ key, value }) => [key.slice(start.length), decodeJsonRow(value) as Tallied]),
    );
  }

  /** What it must have written when it has seen everything: what it started with, and each change after that once. */
  expected(reader: TableReader): Map<string, Tallied> {
    const { state } = readConsumer(reader, this.name) as { readonly state: JsonValue };
    const { began } = state as unknown as { readonly began: Began };
    const nodes = nodesAt(reader, began.revision, [CONTENT]);
    const rows = new Map<string, Tallied>();
    for (const [key, { header }] of nodes) rows.set(key, { path: header.path, seen: 0 });
    for (const entry of feedAfter(reader, began.sequence)) {
      for (const change of partsOf(reader, entry).flatMap(({ changes }) => changes)) {
        const key = `${change.workspace} ${change.node_id}`;
        if (change.details?.kinds.includes('deleted') === true) rows.delete(key);
        else rows.set(key, { path: change.path, seen: (rows.get(key)?.seen ?? 0) + 1 });
      }
    }
    return new Map([...rows].sort(byKey));
  }

  #count(turn: Turn, change: NodeChange): void {
    const key = `${change.workspace} ${change.node_id}`;
    const bytes = turn.get(CommonTable.meta, this.#key(key));
    const seen = bytes === undefined ? 0 : (decodeJsonRow(bytes) as Tallied).seen;
    if (change.details?.kinds.includes('deleted') === true) turn.remove(CommonTable.meta, this.#key(key));
    else this.#put(turn, key, { path: change.path, seen: seen + 1 });
  }

  #put(turn: Turn, key: string, row: Tallied): void {
    turn.put(CommonTable.meta, this.#key(key), encodeJsonRow(row));
  }

  #key(key: string): string {
    return `${PREFIX}${this.name}\0${key}`;
  }
}

/** What {@link FileConsumer} writes of an item or a start. */
export interface Noted {
  readonly branch: ActorId;
  readonly start?: FeedStart;
  readonly after?: FeedPosition;
  readonly ids?: readonly string[];
  readonly ended?: true;
}

/** A consumer that writes what it is given into a file. */
export class FileConsumer implements OutsideConsumer {
  readonly effects = 'elsewhere';
  readonly isEverywhere: boolean;
  readonly name: string;
  readonly #file: string;
  readonly #before: () => void | Promise<void>;

  constructor(
    file: string,
    { isEverywhere = true, name = 'file', before = (): void | Promise<void> => {} } = {},
  ) {
    this.#file = file;
    this.name = name;
    this.isEverywhere = isEverywhere;
    this.#before = before;
  }

  async start(branch: ActorId, start: FeedStart): Promise<void> {
    await this.#before();
    this.#note({ branch, start });
  }

  async consume(branch: ActorId, items: readonly FeedItem[]): Promise<void> {
    await this.#before();
    for (const { after, changes } of items)
      this.#note({ branch, after, ids: changes?.changes.map(({ node_id }) => node_id) ?? [] });
  }

  async ended(branch: ActorId): Promise<void> {
    await this.#before();
    this.#note({ branch, ended: true });
  }

  /** Everything it has been given, also more than once. */
  get noted(): readonly Noted[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Noted);
  }

  #note(noted: Noted): void {
    appendFileSync(this.#file, `${JSON.stringify(noted)}\n`);
  }
}

/** The path of every node at a revision, by `workspace id`. */
export function pathsAt(reader: TableReader, revision: string): Map<string, string> {
  parseRevision(revision);
  const nodes = [...nodesAt(reader, revision, [CONTENT])];
  return new Map(nodes.map(([key, { header }]) => [key, header.path] as const).sort(byKey));
}

/** Sorts entries of a map. */
export function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Looks at what a file of a branch has, which no process may have open. */
export function inBranchFile<T>(folder: string, look: (reader: TableReader) => T): T {
  const shard = new ShardFile(join(folder, 'data.mdb'), [...commonTableNames, ...branchTableNames]);
  try {
    return look(shard as unknown as TableReader);
  } finally {
    shard.close();
  }
}
