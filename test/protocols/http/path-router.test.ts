import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathRouter, parsePattern } from '#protocols/http/path-router.ts';
import { route } from './http-fixture.ts';

const answer = () => ({ status: 200 });

function routerOf(...table: string[]): PathRouter<unknown> {
  return new PathRouter(
    table.map((line) => {
      const [method, pattern] = line.split(' ') as ['GET', string];
      return route(method, pattern, answer);
    }),
  );
}

function found(router: PathRouter<unknown>, method: string, path: string): string {
  const match = router.match(method, path);
  if (match === undefined) return 'none';
  const { captures, compiled } = match;
  const named = compiled.names.map((name, index) => `${name}=${captures[index]}`);
  expect(captures).toHaveLength(compiled.names.length);
  return [compiled.route.pattern, ...named].join(' ');
}

describe('PathRouter', () => {
  const router = routerOf(
    'GET /',
    'GET /api/repositories',
    'GET /api/repositories/{repo}',
    'DELETE /api/repositories/{name}',
    'GET /api/repository/{repo}/{branch}/head/{workspace}/{path*}',
    'GET /api/repository/{repo}/{branch}/rev/{revision}/{workspace}/{path*}',
    'GET /api/revisions/{revision}',
    'POST /api/revisions/compare',
    'GET /api/revisions/latest',
    'GET /files/{path*}',
    'GET /files/{name}/info',
    'PUT /files/{path*}',
    'GET /admin/',
  );

  it('matches a repeated address as the first time, after any other addresses', () => {
    const addresses = Array.from({ length: 600 }, (_, index) => `/api/repositories/r${index % 97}-${index}`);
    for (const path of [...addresses, ...addresses]) {
      const name = path.slice('/api/repositories/'.length);
      expect(found(router, 'GET', path)).toBe(`/api/repositories/{repo} repo=${name}`);
      expect(found(router, 'DELETE', path)).toBe(`/api/repositories/{name} name=${name}`);
      expect(found(router, 'PUT', path)).toBe('none');
    }
  });

  it('finds the same whatever was asked before, also where tails, parameters and literals compete', () => {
    const table = [
      'GET /a/{x}/{path*}',
      'PUT /a/{x}/{path*}',
      'GET /a/b/{path*}',
      'GET /a/b/c/d',
      'GET /{x}/c/{path*}',
      'GET /{path*}',
      'GET /c/{x}/{path*}',
      'PUT /c/{x}/d',
      'PUT /d/a/b',
      'GET /e/c/d',
      'GET /d/{path*}',
      'GET /d/a/{path*}',
    ];
    const shared = routerOf(...table);
    const segment = fc.constantFrom('a', 'b', 'c', 'd', 'e', '');
    const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`);
    const asked = fc.array(fc.tuple(fc.constantFrom('GET', 'PUT'), path), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(asked, (requests) => {
        for (const [method, each] of requests)
          expect(found(shared, method, each)).toBe(found(routerOf(...table), method, each));
      }),
      {
        numRuns: 300,
        examples: [
          [
            [
              ['GET', '/e/c/a'],
              ['GET', '/e/c/d'],
            ],
          ],
        ],
      },
    );
  });

  it('captures raw segments, encoded slashes included', () => {
    expect(found(router, 'GET', '/api/repositories/demo')).toBe('/api/repositories/{repo} repo=demo');
    expect(found(router, 'GET', '/api/repositories/a%2Fb')).toBe('/api/repositories/{repo} repo=a%2Fb');
    expect(found(router, 'DELETE', '/api/repositories/demo')).toBe('/api/repositories/{name} name=demo');
  });

  it.each([
    ['', ''],
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/b/', '/a/b/'],
    ['//', '//'],
    ['/a%2Fb/@x', '/a%2Fb/@x'],
  ])('keeps the tail %j as it came, trailing slash and all', (tail, expected) => {
    expect(found(router, 'GET', `/api/repository/r/b/head/ws${tail}`)).toBe(
      `/api/repository/{repo}/{branch}/head/{workspace}/{path*} repo=r branch=b workspace=ws path=${expected}`,
    );
  });

  it('prefers literals to parameters and parameters to tails, and backtracks when the better branch fails', () => {
    expect(found(router, 'GET', '/api/revisions/latest')).toBe('/api/revisions/latest');
    expect(found(router, 'GET', '/api/revisions/compare')).toBe('/api/revisions/{revision} revision=compare');
    expect(found(router, 'POST', '/api/revisions/compare')).toBe('/api/revisions/compare');
    expect(found(router, 'GET', '/files/a/info')).toBe('/files/{name}/info name=a');
    expect(found(router, 'GET', '/files/a/other')).toBe('/files/{path*} path=/a/other');
    expect(found(router, 'PUT', '/files/a/info')).toBe('/files/{path*} path=/a/info');
  });

  it('has no route for empty parameters, extra slashes and unknown paths', () => {
    for (const path of [
      '/api',
      '/api/repositories/',
      '/api/repositories//',
      '/admin',
      '/nothing',
      '/api//x',
    ]) {
      expect(found(router, 'GET', path)).toBe('none');
    }
    expect(found(router, 'GET', '/')).toBe('/');
    expect(found(router, 'GET', '/admin/')).toBe('/admin/');
  });

  it('lists the methods a path has over all branches', () => {
    expect(router.methodsAt('/api/revisions/compare')).toEqual(['GET', 'POST']);
    expect(router.methodsAt('/api/repositories/x')).toEqual(['DELETE', 'GET']);
    expect(router.methodsAt('/files')).toEqual(['GET', 'PUT']);
    expect(router.methodsAt('/nothing')).toEqual([]);
  });

  it('does not take the names of object members for routes', () => {
    expect(found(routerOf('GET /a'), 'GET', '/__proto__')).toBe('none');
    expect(found(routerOf('GET /a'), 'GET', '/constructor')).toBe('none');
  });

  it('refuses a table with the same route twice', () => {
    expect(() => routerOf('GET /a/{x}', 'GET /a/{y}')).toThrow(/one route/);
  });
});

describe('parsePattern', () => {
  it.each(['a', '/a{b}', '/{a*}/b', '/{a}/{a}', '/{}', '/{a-b}'])('refuses %s', (pattern) => {
    expect(() => parsePattern(pattern)).toThrow(/route pattern/);
  });
});
