import { describe, expect, it } from 'vitest';
import { PathRouter } from '#protocols/http/path-router.ts';
import { contentRoutes } from '#protocols/rest/content-routes.ts';
import type { DefinitionsContext } from '#protocols/rest/schema/definitions.ts';
import type { SqlRouteContext } from '#protocols/rest/sql/run-text.ts';

// Only the table is looked at; no handler runs.
const routes = contentRoutes({} as DefinitionsContext & SqlRouteContext);
const router = new PathRouter(routes);

function operationAt(method: string, path: string): string | undefined {
  return router.match(method, path)?.compiled.route.operationId;
}

describe('the routes of content', () => {
  it('send query and query/dsl of any workspace to the query routes, other names to nodes', () => {
    const base = '/api/repository/r/main/head/w';
    expect(operationAt('POST', `${base}/query`)).toBe('queryNodes');
    expect(operationAt('POST', `${base}/query/dsl`)).toBe('queryNodesByDsl');
    expect(operationAt('GET', `${base}/query`)).toBe('readNode');
    expect(operationAt('POST', `${base}/query/other`)).toBe('createNode');
    expect(operationAt('POST', base)).toBe('createNode');
    expect(operationAt('GET', `${base}/a/b/c/`)).toBe('readNode');
    expect(operationAt('PATCH', `${base}/a`)).toBe('patchNode');
  });

  it('send statements to main or to a branch', () => {
    expect(operationAt('POST', '/api/sql/r')).toBe('runSql');
    expect(operationAt('POST', '/api/sql/r/main')).toBe('runSqlOnBranch');
    expect(operationAt('POST', '/api/sql/r/a%2Fb')).toBe('runSqlOnBranch');
    expect(operationAt('GET', '/api/sql/r')).toBeUndefined();
  });

  it('send queries at a revision to routes of their own', () => {
    const base = '/api/repository/r/main/rev/1-0/w';
    expect(operationAt('POST', `${base}/query`)).toBe('queryNodesAtRevision');
    expect(operationAt('POST', `${base}/query/dsl`)).toBe('queryNodesByDslAtRevision');
    expect(operationAt('GET', `${base}/query`)).toBe('readNodeAtRevision');
    expect(operationAt('POST', `${base}/query/other`)).toBe('refuseCreateAtRevision');
  });

  it('refuse every write at a revision by a route of its own', () => {
    const base = '/api/repository/r/main/rev/1-0/w/a';
    expect(operationAt('GET', base)).toBe('readNodeAtRevision');
    expect(operationAt('POST', base)).toBe('refuseCreateAtRevision');
    expect(operationAt('PUT', base)).toBe('refuseUpdateAtRevision');
    expect(operationAt('DELETE', base)).toBe('refuseDeleteAtRevision');
  });

  it.each(['nodetypes', 'archetypes', 'elementtypes', 'mixins'])('have the whole set of %s', (family) => {
    const base = `/api/management/r/main/${family}`;
    const found = [
      ['POST', base],
      ['GET', base],
      ['GET', `${base}/published`],
      ['GET', `${base}/a:B`],
      ['PUT', `${base}/a:B`],
      ['DELETE', `${base}/a:B`],
      ['POST', `${base}/a:B/publish`],
      ['POST', `${base}/a:B/unpublish`],
      ['POST', `${base}/validate`],
    ].map(([method, path]) => operationAt(method as string, path as string));
    expect(found).not.toContain(undefined);
    expect(new Set(found).size).toBe(found.length);
  });

  it('resolve everything but mixins', () => {
    const resolved = (family: string) => operationAt('GET', `/api/management/r/main/${family}/a:B/resolved`);
    expect(resolved('nodetypes')).toBe('resolveNodeType');
    expect(resolved('archetypes')).toBe('resolveArchetype');
    expect(resolved('elementtypes')).toBe('resolveElementType');
    expect(resolved('mixins')).toBeUndefined();
  });

  it('distinguish history by id from history by path', () => {
    expect(operationAt('GET', '/api/history/r/main/w/by-id/x')).toBe('readHistoryById');
    expect(operationAt('GET', '/api/history/r/main/w/by-id')).toBe('readHistory');
    expect(operationAt('GET', '/api/audit/r/main/w/a/b')).toBe('readAudit');
  });
});
