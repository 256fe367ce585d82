import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runRedocly } from '#test/support/redocly.ts';
import { type ProgramOutcome, runProgram } from '#test/support/run-program.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

let server: TestServer;
let folder: string;

/** What a client of TypeScript is compiled with elsewhere: the standard library, and what browsers have too. */
const settings = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'dom'],
    module: 'nodenext',
    types: ['node'],
    typeRoots: [join(projectRoot, 'node_modules', '@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  },
  include: ['.'],
};

beforeAll(async () => {
  server = await startServer();
  folder = mkdtempSync(join(tmpdir(), 'grove-client-'));
  const { text } = await server.request('GET', '/openapi.json');
  writeFileSync(join(folder, 'openapi.json'), text);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  copyFileSync(join(projectRoot, 'test', 'client-tour', 'tour.ts'), join(folder, 'tour.ts'));
  const generated = await runRedocly([
    ...['generate-client', join(folder, 'openapi.json'), '--output', join(folder, 'client.ts')],
    ...['--import-ext', 'ts', '--config', join(projectRoot, 'redocly.yaml')],
  ]);
  if (generated.code !== 0) throw new Error(`no client: ${generated.stdout}${generated.stderr}`);
});

afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function compile(): Promise<ProgramOutcome> {
  return runProgram('node_modules/typescript/bin/tsc', ['--project', folder]);
}

describe('a client that is generated from the description', () => {
  it('compiles, with the tour that uses it [HTTP-082]', async () => {
    const { code, stdout } = await compile();
    expect([stdout, code]).toEqual(['', 0]);
  });

  it('knows what operations take and answer [HTTP-082]', async () => {
    const wrong = join(folder, 'wrong.ts');
    writeFileSync(
      wrong,
      `import { compareBranches, reorderNode } from './client.ts';
const path = { repo: 'r', branch: 'main', workspace: 'w', path: 'a' };
await reorderNode({ path, body: { targetPath: '/b', movePosition: 'above' } });
await reorderNode({ path, body: { movePosition: 'before' } });
const compared = await compareBranches({ path: { tenant: 't', repo: 'r', branch: 'b', base: 'main' } });
const behind: string = compared.behind;
export { behind };
`,
    );
    const { stdout } = await compile();
    rmSync(wrong);
    const lines = [...stdout.matchAll(/wrong\.ts\((\d+),/g)].map((found) => Number(found[1]));
    expect(lines).toEqual([3, 4, 6]);
  });

  it('runs the tour of the README against a server [HTTP-082]', async () => {
    const { code, stderr, stdout } = await runProgram(relative(projectRoot, join(folder, 'tour.ts')), [
      server.url,
      ADMIN_PASSWORD,
    ]);
    expect([stderr, code]).toEqual(['', 0]);
    const told = JSON.parse(stdout) as Record<string, unknown>;
    expect(told).toMatchObject({
      repository: ['main'],
      type: 1,
      issue: '/spring-issue',
      gardens: { title: 'Gardens in March', author: 'Ada', words: 1200 },
      unfit: { status: 400, body: { code: 'VALIDATION_FAILED' } },
      untyped: { status: 422, body: 'missing field `name`' },
      node: { path: '/spring-issue/gardens', version: 1 },
      title: 'Gardens in March',
      page: { items: [{ name: 'gardens' }], next_cursor: expect.any(String) },
      tree: { 'spring-issue': { children: { gardens: {}, rivers: {} } } },
      updated: { committed: true, node: { properties: { title: 'Gardens in April' } } },
      translated: 'de',
      german: { properties: { title: 'Gärten im April' } },
      found: ['/spring-issue/gardens', '/spring-issue/rivers'],
      roots: ['/spring-issue'],
      revisions: 5,
      first: { version: 1, properties: { title: 'Gardens in March' } },
    });
  });
});
