import { Buffer } from 'node:buffer';
import { assert } from '#runtime/base/assert.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { storedText, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';

/** A unique value that two nodes have. */
export interface UniqueClash {
  readonly workspace: string;
  readonly property: string;
  /** The node that got the value last comes first. */
  readonly ids: readonly [string, string];
  /** The operation that assigned the value, counted from 0. */
  readonly operation: number;
}

/** The claims on one value. */
interface ClaimedValue {
  readonly workspace: string;
  readonly property: string;
  /** By node id. */
  readonly nodes: Map<string, Claim>;
}

interface Claim {
  /** 1: the node got the value; -1: it lost the value; 0: unchanged from before the commit. */
  readonly net: number;
  /** The last operation that assigned it the value or took it away, counted from 0; -1: none. */
  readonly operation: number;
}

const untouched: Claim = Object.freeze({ net: 0, operation: -1 });

/** Values settled between two yields. */
const VALUES_PER_STEP = 256;

/**
 * The unique values that the operations of one commit assign to nodes and remove from them. Nothing is compared or
 * written before {@link settle}, so two nodes may have the same value in between. The index then has the final values,
 * whatever the order of the operations.
 *
 * Invariant: until {@link settle}, the index is as it was before the commit.
 *
 * Enforcement: test/runtime/tree/unique-claims.test.ts.
 */
export class UniqueClaims {
  /** The present operation, counted from 0. */
  operation = 0;
  /** By the key of the value in the index. */
  readonly #values = new Map<string, ClaimedValue>();

  /** Records that a node gets a value. @param key of the value in the unique index */
  claim(workspace: string, property: string, key: string, id: string): void {
    this.#change(workspace, property, key, id, 1);
  }

  /** Records that a node loses a value. */
  release(workspace: string, property: string, key: string, id: string): void {
    this.#change(workspace, property, key, id, -1);
  }

  #change(workspace: string, property: string, key: string, id: string, by: 1 | -1): void {
    let value = this.#values.get(key);
    if (value === undefined) {
      value = { workspace, property, nodes: new Map() };
      this.#values.set(key, value);
    }
    const net = (value.nodes.get(id) ?? untouched).net + by;
    assert(Math.abs(net) <= 1, 'a node has a value once, and gives up what it has');
    value.nodes.set(id, { net, operation: this.operation });
  }

  /**
   * Compares the final values and writes the index.
   *
   * @returns a value that two nodes have; undefined when there is none
   */
  *settle(turn: Turn): Generator<undefined, UniqueClash | undefined> {
    let done = 0;
    for (const [key, value] of this.#values) {
      const bytes = turn.get(BranchTable.uniques, key);
      const before = bytes === undefined ? undefined : storedText(bytes);
      const [first, second] = holdersOf(value, before);
      if (first !== undefined && second !== undefined) return clashOf(value, first, second);
      if (first === undefined) {
        if (before !== undefined) turn.remove(BranchTable.uniques, key);
      } else if (first !== before) {
        turn.put(BranchTable.uniques, key, Buffer.from(textBytes(first), 'latin1'));
      }
      done += 1;
      if (done % VALUES_PER_STEP === 0) yield;
    }
    this.#values.clear();
    return undefined;
  }
}

/** The nodes that have a value at the end. @param before the node that had it before the commit */
function holdersOf({ nodes }: ClaimedValue, before: string | undefined): readonly string[] {
  const holders: string[] = [];
  if (before !== undefined && nodes.get(before)?.net !== -1) holders.push(before);
  for (const [id, { net }] of nodes) if (net === 1) holders.push(id);
  return holders;
}

function clashOf({ nodes, property, workspace }: ClaimedValue, one: string, other: string): UniqueClash {
  const at = (id: string): number => nodes.get(id)?.operation ?? untouched.operation;
  const ids = at(one) > at(other) ? ([one, other] as const) : ([other, one] as const);
  return { workspace, property, ids, operation: at(ids[0]) };
}
