import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

describe('creating a repository', () => {
  it('answers 201 with the repository and its defaults [REPO-001, REPO-002, CONV-008]', async () => {
    const answer = await server.admin('POST', '/api/repositories', { repo_id: 'first' });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.json).sort()).toEqual([
      'branches',
      'config',
      'created_at',
      'repo_id',
      'tenant_id',
    ]);
    expect(answer.json).toMatchObject({ tenant_id: 'default', repo_id: 'first', branches: ['main'] });
    expect(answer.json.config).toEqual({
      default_branch: 'main',
      description: null,
      tags: {},
      default_language: 'en',
      supported_languages: ['en'],
      locale_fallback_chains: {},
    });
    expect(new Date(answer.json.created_at).toISOString()).toBe(answer.json.created_at);
  });

  it('takes another default branch and creates it [REPO-003, REPO-015]', async () => {
    const answer = await server.admin('POST', '/api/repositories', {
      repo_id: 'developed',
      default_branch: 'develop',
      description: 'a description',
    });
    expect(answer.status).toBe(201);
    expect(answer.json.config.default_branch).toBe('develop');
    expect(answer.json.config.description).toBe('a description');
    expect(answer.json.branches).toEqual(['develop']);
  });

  it('always supports the default language [REPO-016]', async () => {
    const answer = await server.admin('POST', '/api/repositories', {
      repo_id: 'languages',
      default_language: 'de',
      supported_languages: ['fr', 'de-ch'],
    });
    expect(answer.json.config.default_language).toBe('de');
    expect([...answer.json.config.supported_languages].sort()).toEqual(['de', 'de-CH', 'fr']);
  });

  it('refuses a taken name [REPO-004]', async () => {
    await server.createRepository('taken');
    const again = await server.admin('POST', '/api/repositories', { repo_id: 'taken' });
    expect(again.status).toBe(409);
    expect(again.json).toMatchObject({ code: 'REPOSITORY_ALREADY_EXISTS' });
  });

  it('lets exactly one of many simultaneous creations win, and keeps nothing of the others [REPO-004]', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.admin('POST', '/api/repositories', { repo_id: 'raced' })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 409)).toHaveLength(7);
    const folders = await server.actorFolders('default');
    expect(folders.filter((name) => name.startsWith('raced~'))).toHaveLength(1);
  });

  it('names the missing field in text [REPO-017]', async () => {
    const answer = await server.admin('POST', '/api/repositories', {});
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.text).toContain('repo_id');
  });

  it('refuses names that are not repository names [REPO-019]', async () => {
    for (const name of ['Upper', '', '-dash', '_under', 'with space', 'ä', 'a'.repeat(64), 'a/b', 'a.b']) {
      const answer = await server.admin('POST', '/api/repositories', { repo_id: name });
      expect([name, answer.status, answer.json.code]).toEqual([name, 400, 'VALIDATION_FAILED']);
    }
  });

  it('refuses names that are routes [REPO-020]', async () => {
    for (const name of ['sql', 'svc', 'repository', 'management', 'functions', 'workspaces', 'triggers']) {
      const answer = await server.admin('POST', '/api/repositories', { repo_id: name });
      expect([name, answer.status, answer.json.code]).toEqual([name, 400, 'VALIDATION_FAILED']);
    }
  });

  it('refuses a bad branch or language and keeps nothing of it', async () => {
    const branch = await server.admin('POST', '/api/repositories', { repo_id: 'bad', default_branch: 'a b' });
    expect([branch.status, branch.json.code]).toEqual([400, 'INVALID_BRANCH_NAME']);
    const language = await server.admin('POST', '/api/repositories', {
      repo_id: 'bad',
      default_language: 'x',
    });
    expect([language.status, language.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect((await server.admin('GET', '/api/repositories/bad')).status).toBe(404);
    const folders = await server.actorFolders('default');
    expect(folders.some((name) => name.startsWith('bad~'))).toBe(false);
  });

  it('answers a repeated creation with the first outcome under one idempotency key', async () => {
    const send = () =>
      server.request('POST', '/api/repositories', {
        token: server.adminToken,
        body: { repo_id: 'keyed' },
        headers: { 'idempotency-key': 'create-keyed' },
      });
    const first = await send();
    const second = await send();
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.json).toEqual(first.json);
    const folders = await server.actorFolders('default');
    expect(folders.filter((name) => name.startsWith('keyed~'))).toHaveLength(1);
  });
});

describe('reading repositories', () => {
  it('lists those of the tenant, sorted by name [REPO-005]', async () => {
    await server.createRepository('list-b');
    await server.createRepository('list-a');
    const answer = await server.admin('GET', '/api/repositories');
    expect(answer.status).toBe(200);
    const names: string[] = answer.json.map((repository: { repo_id: string }) => repository.repo_id);
    expect(names.filter((name) => name.startsWith('list-'))).toEqual(['list-a', 'list-b']);
    expect(names).toEqual([...names].sort());
  });

  it('answers one, and 404 for an unknown one [REPO-006, REPO-007]', async () => {
    await server.createRepository('read-me');
    const answer = await server.admin('GET', '/api/repositories/read-me');
    expect(answer.status).toBe(200);
    expect(answer.json.repo_id).toBe('read-me');
    const missing = await server.admin('GET', '/api/repositories/nowhere');
    expect([missing.status, missing.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
  });

  it('answers 404 for a name as long as an address may be', async () => {
    const missing = await server.admin('GET', `/api/repositories/${'x'.repeat(3_000)}`);
    expect([missing.status, missing.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
  });

  it('needs a token for every route [REPO-018]', async () => {
    for (const [method, path] of [
      ['GET', '/api/repositories'],
      ['POST', '/api/repositories'],
      ['GET', '/api/repositories/first'],
      ['PUT', '/api/repositories/first'],
      ['DELETE', '/api/repositories/first'],
      ['GET', '/api/repositories/first/translation-config'],
      ['PATCH', '/api/repositories/first/translation-config'],
    ] as const) {
      const answer = await server.request(method, path, method === 'GET' ? {} : { body: {} });
      expect([method, path, answer.status, answer.json.code]).toEqual([method, path, 401, 'UNAUTHORIZED']);
    }
    expect((await server.admin('GET', '/api/repositories/first')).status).toBe(200);
  });
});

describe('changing a repository', () => {
  it('answers 204, changes what is given and keeps the rest [REPO-008, REPO-009]', async () => {
    await server.admin('POST', '/api/repositories', { repo_id: 'changing', description: 'before' });
    const languages = await server.admin('PUT', '/api/repositories/changing', {
      supported_languages: ['fr'],
    });
    expect([languages.status, languages.text]).toEqual([204, '']);
    const first = (await server.admin('GET', '/api/repositories/changing')).json.config;
    expect(first.description).toBe('before');
    expect([...first.supported_languages].sort()).toEqual(['en', 'fr']);
    await server.admin('PUT', '/api/repositories/changing', { description: 'after' });
    const second = (await server.admin('GET', '/api/repositories/changing')).json.config;
    expect(second.description).toBe('after');
    expect(second.supported_languages).toEqual(first.supported_languages);
    await server.admin('PUT', '/api/repositories/changing', { description: null });
    expect((await server.admin('GET', '/api/repositories/changing')).json.config.description).toBeNull();
  });

  it('does not change the default language [REPO-010]', async () => {
    await server.createRepository('fixed-language');
    await server.admin('PUT', '/api/repositories/fixed-language', { default_language: 'de' });
    const { config } = (await server.admin('GET', '/api/repositories/fixed-language')).json;
    expect(config.default_language).toBe('en');
  });

  it('refuses a default branch that does not exist', async () => {
    await server.createRepository('branchless');
    const answer = await server.admin('PUT', '/api/repositories/branchless', { default_branch: 'nope' });
    expect([answer.status, answer.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  it('answers 404 for an unknown one [REPO-011]', async () => {
    const answer = await server.admin('PUT', '/api/repositories/nowhere', { description: 'x' });
    expect([answer.status, answer.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
  });
});

describe('deleting a repository', () => {
  it('takes it and its files away [REPO-012]', async () => {
    await server.createRepository('doomed');
    const answer = await server.admin('DELETE', '/api/repositories/doomed');
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await server.admin('GET', '/api/repositories/doomed')).status).toBe(404);
    const content = await server.admin('GET', '/api/workspaces/doomed');
    expect([content.status, content.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
    const folders = await server.actorFolders('default');
    expect(folders.some((name) => name.startsWith('doomed~'))).toBe(false);
  });

  it('answers 404 for an unknown one [REPO-013]', async () => {
    const answer = await server.admin('DELETE', '/api/repositories/nowhere');
    expect([answer.status, answer.json.code]).toEqual([404, 'REPOSITORY_NOT_FOUND']);
  });

  it('starts without the old content when it is made again, across a restart too [REPO-014]', async () => {
    await server.createRepository('again');
    const body = { allowed_node_types: [], allowed_root_node_types: [] };
    expect((await server.admin('PUT', '/api/workspaces/again/mine', body)).status).toBe(204);
    await server.admin('DELETE', '/api/repositories/again');
    await server.createRepository('again');
    expect((await server.admin('GET', '/api/workspaces/again/mine')).status).toBe(404);
    await server.restart();
    expect((await server.admin('GET', '/api/workspaces/again/mine')).status).toBe(404);
    expect((await server.admin('GET', '/api/workspaces/again/default')).status).toBe(200);
  });

  it('keeps deleted ones away and the others after a restart', async () => {
    await server.createRepository('kept');
    await server.createRepository('dropped');
    await server.admin('DELETE', '/api/repositories/dropped');
    await server.restart();
    expect((await server.admin('GET', '/api/repositories/kept')).status).toBe(200);
    expect((await server.admin('GET', '/api/repositories/dropped')).status).toBe(404);
    expect(await server.actorFolders('default')).toContain('tenant');
  });
});

describe('languages of a repository', () => {
  const config = '/api/repositories/spoken/translation-config';

  beforeAll(async () => {
    await server.createRepository('spoken');
  });

  it('are answered [TRANS-021]', async () => {
    const answer = await server.admin('GET', config);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      default_language: 'en',
      supported_languages: ['en'],
      locale_fallback_chains: {},
    });
  });

  it('are changed, the default language added by itself [TRANS-025]', async () => {
    const answer = await server.admin('PATCH', config, {
      supported_languages: ['de', 'de-ch', 'fr'],
      locale_fallback_chains: { 'de-CH': ['de', 'fr'] },
    });
    expect([answer.status, answer.text]).toEqual([204, '']);
    const stored = (await server.admin('GET', config)).json;
    expect([...stored.supported_languages].sort()).toEqual(['de', 'de-CH', 'en', 'fr']);
    expect(stored.locale_fallback_chains).toEqual({ 'de-CH': ['de', 'fr'] });
    const info = (await server.admin('GET', '/api/repositories/spoken')).json.config;
    expect(info.locale_fallback_chains).toEqual({ 'de-CH': ['de', 'fr'] });
  });

  it('keep their default [TRANS-023]', async () => {
    const answer = await server.admin('PATCH', config, { default_language: 'de' });
    expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect((await server.admin('PATCH', config, { default_language: 'en' })).status).toBe(204);
  });

  it('refuse an unsupported locale in a chain and a chain that names itself [TRANS-024]', async () => {
    for (const chains of [{ de: ['ja'] }, { ja: ['de'] }, { de: ['fr', 'de'] }]) {
      const answer = await server.admin('PATCH', config, { locale_fallback_chains: chains });
      expect([answer.status, answer.json.code]).toEqual([400, 'VALIDATION_FAILED']);
    }
    const stored = (await server.admin('GET', config)).json;
    expect(stored.locale_fallback_chains).toEqual({ 'de-CH': ['de', 'fr'] });
  });

  it('survive a restart', async () => {
    const before = (await server.admin('GET', config)).json;
    await server.restart();
    expect((await server.admin('GET', config)).json).toEqual(before);
  });
});
