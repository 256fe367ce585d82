import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { AuditEntry } from '#runtime/tree/audit-store.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { seenNodes } from '../reads/seen-nodes.ts';

/**
 * What a caller may learn of the audit entries of a node that may be read. An entry has the path at which the node was, and
 * details may name other nodes and properties.
 */
export class AuditSight {
  readonly #access: NodeAccess;
  readonly #reader: TableReader;
  readonly #workspace: string;
  readonly #node: NodeRecord;

  /** @param node its last state */
  constructor(context: QueryContext, reader: TableReader, workspace: string, node: NodeRecord) {
    this.#access = new NodeAccess(context, reader);
    this.#reader = reader;
    this.#workspace = workspace;
    this.#node = node;
  }

  /** @returns undefined for an entry of a path that may not be read. Yields while it reads large nodes */
  *shown(entry: AuditEntry): Generator<undefined, AuditEntry | undefined> {
    if (!this.#maySeeAt(entry.path)) return undefined;
    const { details } = entry;
    return details === null || (yield* this.#maySeeAll(details)) ? entry : { ...entry, details: null };
  }

  #maySeeAt(path: JsonValue): boolean {
    if (typeof path !== 'string') return false;
    return this.#access.allows('read', this.#workspace, this.#node, path);
  }

  *#maySeeAll(details: JsonObject): Generator<undefined, boolean> {
    for (const [key, value] of Object.entries(details)) {
      // A decision may take some milliseconds.
      yield undefined;
      if (!(yield* this.#maySeeDetail(key, value))) return false;
    }
    return true;
  }

  *#maySeeDetail(key: string, value: JsonValue): Generator<undefined, boolean> {
    switch (key) {
      case 'locale':
      case 'reordered':
      case 'version':
        return true;
      case 'from':
      case 'source_path':
      case 'to':
        return this.#maySeeAt(value);
      case 'property':
        return typeof value === 'string' && this.#showsProperty(value);
      case 'sibling_id':
      case 'source_id':
        return typeof value === 'string' && (yield* this.#sees(value));
      default:
        // It may name any node.
        return false;
    }
  }

  /** @param path of keys with dots, or a name with dots */
  #showsProperty(path: string): boolean {
    const fields = this.#access.shownFields(this.#workspace, this.#node);
    const [first] = path.split('.') as [string];
    return fields.has(first) && (fields.kind === 'only' || fields.has(path));
  }

  #sees(id: string): Generator<undefined, boolean> {
    return seenNodes(new HeadNodeReader(this.#reader), this.#access)(this.#workspace, id);
  }
}
