import { wholeScope } from '#runtime/access/policy.ts';
import type { NodesOfType } from '#runtime/tree/index-writer.ts';
import { Moment } from './moment.ts';
import { scan } from './scan.ts';

/** The nodes of a type at the head, for writers of indexes. */
export const nodesOfType: NodesOfType = (reader, workspace, nodeType, after) =>
  scan(new Moment(reader), { source: { kind: 'paths', workspace, nodeType }, scope: wholeScope, after });
