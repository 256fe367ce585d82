import type { JsonAnswer, ListRevisions } from '#actors/branch/messages.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { RestoredRevision } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { BranchStatementContext } from '../ports.ts';
import { branchNamed, refused } from './statement-access.ts';

/** How a page begins that has a revision. The names of its fields are those of the wire, in that order. */
const firstRevision = /^\{"revisions":\[\{"revision":"(\d+-\d+)"/;

/** Part of a page that has the first revision, in UTF-16 units. */
const BEGINNING = 256;

/**
 * The revision that is `distance` revisions before the head of a branch.
 *
 * @param name the branch
 * @param span of the statement, for messages
 * @throws {ServiceError} `VALIDATION_FAILED` for a branch with fewer revisions; `BRANCH_NOT_FOUND`, `UNAUTHORIZED`,
 *   `FORBIDDEN`
 */
export async function revisionBack(
  context: BranchStatementContext,
  name: string,
  { branch, distance }: Extract<RestoredRevision, { readonly kind: 'relative' }>,
  span: Span,
): Promise<Revision> {
  const entry = await branchNamed(context, name);
  const { actor } = context.directory.foundBranch(context.repository, entry);
  const query: ListRevisions = { type: 'ListRevisions', limit: 1, offset: distance, includeSystem: true };
  const page = (await context.router.query(actor, query, context.delivery.caller)) as JsonAnswer;
  const text = await textOf(page);
  const [, revision] = firstRevision.exec(text.slice(0, BEGINNING)) ?? [];
  if (revision !== undefined) return parseRevision(revision);
  const { total } = JSON.parse(text) as { readonly total: number };
  const written = `${branch ?? 'HEAD'}~${distance}`;
  throw refused(
    context,
    `Branch '${name}' only has ${plural(total)}, cannot go back ${plural(distance)} (${written})`,
    span,
  );
}

async function textOf(answer: JsonAnswer): Promise<string> {
  if (answer instanceof JsonText) return answer.text;
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.chunks) text += typeof chunk === 'string' ? chunk : decoder.decode(chunk);
  return text;
}

function plural(count: number): string {
  return `${count} ${count === 1 ? 'revision' : 'revisions'}`;
}
