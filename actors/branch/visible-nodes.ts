import type { Policy } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { ResolvedNodeType } from '#runtime/content/type-resolver.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import { type RenderFacts, renderNode, renderNodeInSteps } from '#runtime/tree/render-node.ts';
import type { BranchState } from './branch-state.ts';
import { LargePiece, silently } from './long-answer.ts';
import { localeChain, localizedProperties } from './localize.ts';
import { readerAt, schemaAt } from './read-node.ts';

/** Size of a record from which on its text counts as large. */
export const LARGE_NODE_BYTES = 64 * 1024;

/** Which nodes are meant: those of a workspace, at the head or at a revision, in a locale or as stored. */
export interface Scene {
  readonly workspace: string;
  readonly at?: Revision;
  /** As the caller wrote it. */
  readonly lang?: string;
}

/** A node the caller gets to see. */
export interface VisibleNode {
  readonly record: NodeRecord;
  /** Its id where it was looked up by it: without that the header has to be decoded. */
  readonly id?: string;
  /** What its locale shows instead of the stored properties. */
  readonly properties: JsonObject | undefined;
}

/**
 * The nodes of one answer: looked up, left out where the caller may not read them or the locale hides them, and
 * made into text. Every listing and query goes through here, so all of them agree on what can be seen.
 */
export class VisibleNodes {
  readonly tree: NodeReader;
  readonly workspace: string;
  readonly #state: BranchState;
  readonly #context: QueryContext;
  readonly #reader: TableReader;
  readonly #at: Revision | undefined;
  readonly #policy: Policy;
  readonly #chain: readonly string[];
  readonly #types = new Map<string, ResolvedNodeType | undefined>();

  /** @throws {ServiceError} `VALIDATION_FAILED` for a malformed locale */
  constructor(state: BranchState, context: QueryContext, reader: TableReader, scene: Scene) {
    this.#state = state;
    this.#context = context;
    this.#reader = reader;
    this.#at = scene.at;
    this.#policy = context.caller.policy;
    this.#chain = scene.lang === undefined ? [] : localeChain(state, scene.lang);
    this.workspace = scene.workspace;
    this.tree = readerAt(reader, scene.at);
  }

  /** What the request may still use. */
  get budget(): RequestBudget {
    return this.#context.budget;
  }

  /** Whether every stored node is visible, so that nodes can be counted without looking at them. */
  get seesAll(): boolean {
    return this.#policy.unrestricted && this.#chain.length === 0;
  }

  /**
   * A node that some table names.
   *
   * @returns undefined when it cannot be seen
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  find(id: string): VisibleNode | undefined {
    const record = this.tree.byId(this.workspace, id);
    assert(record !== undefined, `node ${id} is listed but not stored`);
    return this.visible(record, id);
  }

  /** A stored node, or undefined when it cannot be seen. @param id if it is known */
  visible(record: NodeRecord, id?: string): VisibleNode | undefined {
    if (!this.#policy.unrestricted) {
      const { path, nodeType } = record.header;
      if (!this.#policy.allows('read', { workspace: this.workspace, path, nodeType })) return undefined;
    }
    const properties = localizedProperties(record, this.#chain);
    if (properties === 'hidden') return undefined;
    return id === undefined ? { record, properties } : { record, properties, id };
  }

  /** The type of a node; undefined when it has been deleted. */
  type(name: string): ResolvedNodeType | undefined {
    if (!this.#types.has(name)) {
      const schema = schemaAt(this.#state, this.#reader, this.workspace, this.#at);
      this.#types.set(name, schema.nodeType(name));
    }
    return this.#types.get(name);
  }

  /** To be yielded before a node is rendered that is large. */
  largePiece({ record }: VisibleNode): LargePiece | undefined {
    const { length } = record.bytes;
    return length < LARGE_NODE_BYTES ? undefined : new LargePiece(length);
  }

  /**
   * The node object as JSON text; yields where the work may rest, which it does only for a large node.
   *
   * @param children JSON text of a further field `children`
   */
  text(node: VisibleNode, children?: string): Generator<'', string> {
    return silently(renderNodeInSteps(node.record, this.#facts(node, children)));
  }

  /** As {@link text}, in one go. */
  render(node: VisibleNode, children?: string): string {
    return renderNode(node.record, this.#facts(node, children));
  }

  #facts({ id, properties, record }: VisibleNode, children: string | undefined): RenderFacts {
    return {
      workspace: this.workspace,
      hasChildren: this.tree.hasChildren(this.workspace, id ?? record.header.id),
      type: this.type(record.nodeType),
      ...(properties === undefined ? {} : { properties }),
      ...(children === undefined ? {} : { children }),
    };
  }
}
