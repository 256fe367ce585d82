import type { NodeHeader } from '#runtime/content/content-node.ts';
import type { NodeReader } from './node-reader.ts';
import { NodeRecord } from './record/node-record.ts';
import { PastNodeReader } from './past-node-reader.ts';

/** A node that was looked up without keeping anything large of it, for requests that wait for memory. */
export interface FoundNode {
  readonly header: NodeHeader;
  /** Length of its record. */
  readonly bytes: number;
  /** Undefined when it is large: it has to be read again. */
  readonly record: NodeRecord | undefined;
}

/** Looks a node up. Yields while it reads large rows. */
export function* findNode(
  tree: NodeReader,
  workspace: string,
  id: string,
): Generator<undefined, FoundNode | undefined> {
  if (!(tree instanceof PastNodeReader)) return foundNode(yield* tree.byIdInSteps(workspace, id));
  const present = foundNode(yield* tree.presentById(workspace, id));
  if (tree.isDecidedBy(present?.header)) return present;
  const earlier = yield* tree.behindInSteps(present?.header, workspace, id);
  return earlier === undefined || earlier instanceof NodeRecord ? foundNode(earlier) : present;
}

/** What is kept of a record. */
export function foundNode(record: NodeRecord | undefined): FoundNode | undefined {
  if (record === undefined) return undefined;
  const { bytes, header, isLarge } = record;
  return { header, bytes: bytes.length, record: isLarge ? undefined : record };
}
