import { describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { reservedRepositoryNames } from '#runtime/content/names.ts';
import { parsePattern, type PatternPart } from '#protocols/http/path-router.ts';
import { memberRoutes, type RoutesContext } from '#server/routes.ts';

/** Only the table is looked at; no handler runs. */
const routes = memberRoutes({ version: '1', clock: systemClock } as RoutesContext).map((route) => ({
  ...route,
  parts: parsePattern(route.pattern),
}));
type TestedRoute = (typeof routes)[number];

/** Whether one path may have both patterns. A repository has no reserved name. */
function meet(a: readonly PatternPart[], b: readonly PatternPart[]): boolean {
  const [first, ...restA] = a;
  const [second, ...restB] = b;
  if (first?.kind === 'tail' || second?.kind === 'tail') return true;
  if (first === undefined || second === undefined) return first === second;
  return (canBe(first, second) || canBe(second, first)) && meet(restA, restB);
}

function canBe(part: PatternPart, other: PatternPart): boolean {
  if (part.kind !== 'literal') return part.kind === other.kind;
  if (other.kind === 'literal') return part.text === other.text;
  return other.name !== 'repo' || !reservedRepositoryNames.has(part.text);
}

function meetingOf(first: TestedRoute): readonly string[] {
  const later = routes.slice(routes.indexOf(first) + 1);
  return later
    .filter((other) => other.method === first.method && meet(first.parts, other.parts))
    .map((other) =>
      [first, other]
        .map(({ operationId }) => operationId)
        .sort()
        .join(' '),
    );
}

describe('words of addresses', () => {
  it('collide with no name except the listed ones', () => {
    expect(routes.flatMap(meetingOf).sort()).toEqual([
      // A POST at `/query` is a query; the refusal of anything else says where it goes.
      'createNode queryNodes',
      'createNode queryNodesByDsl',
      // A name of an archetype or element type may not be `published`; those of other definitions have a colon.
      'listPublishedArchetypes readArchetype',
      'listPublishedElementTypes readElementType',
      'listPublishedMixins readMixin',
      'listPublishedNodeTypes readNodeType',
      // Writes at a revision are refused anyway.
      'queryNodesAtRevision refuseCreateAtRevision',
      'queryNodesByDslAtRevision refuseCreateAtRevision',
      // The path is read when no node has the id.
      'readAudit readAuditById',
      'readHistory readHistoryById',
      // The server makes the ids of jobs.
      'readJobStats readJobStatus',
    ]);
  });
});
