import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContentClient, expectStatus, revisionOf, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer();
  client = await ContentClient.on(server);
});

afterAll(() => server.close());

const explicit = { message: 'told', actor: 'ann' };

/** A refusal that says so and changes nothing. */
async function expectRefused(
  space: Space,
  write: () => Promise<TestResponse>,
  ...statuses: readonly number[]
): Promise<TestResponse> {
  const before = (await space.get('/?flatten=true')).json;
  const answer = await write();
  expect(statuses).toContain(answer.status);
  expect((await space.get('/?flatten=true')).json).toEqual(before);
  return answer;
}

describe('the address of a command', () => {
  it('may be svc:x, svc:cmd/x and ?command=x, encoded or not [CMD-001, CMD-002, CMD-003]', async () => {
    const space = await client.workspace();
    const spellings = [
      '/svc:rename',
      '/svc:cmd/rename',
      '?command=rename',
      '/svc%3Acmd/rename',
      '/svc%3arename',
      '/svc:cmd%2Frename',
    ];
    let path = '/start';
    await space.add('/', 'start');
    for (const [index, spelling] of spellings.slice(0, 5).entries()) {
      const newName = `name-${index}`;
      expectStatus(await space.post(path + spelling, { newName }), 200);
      path = `/${newName}`;
      expect(await space.names()).toEqual([newName]);
    }
    expect((await space.post(path + spellings[5], { newName: 'x' })).status).toBeGreaterThanOrEqual(400);
  });

  it('exists for move, copy, publish, reorder, relations and translations [CMD-001]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    const bodies = {
      move: { targetPath: '/a-moved' },
      copy: { targetPath: '/copied' },
      publish: {},
      unpublish: {},
      reorder: { targetPath: '/a-moved' },
      'add-relation': { targetWorkspace: space.name, targetPath: '/a-moved' },
      translate: { locale: 'de', translations: { '/description': 'x' } },
    };
    await space.put('/b', { properties: { description: 'y' } });
    for (const [command, body] of Object.entries(bodies)) {
      const path = command === 'move' ? '/a' : '/b';
      expect((await space.post(`${path}/svc:${command}`, body)).status, command).toBe(200);
    }
  });

  it('takes camelCase and snake_case keys [CMD-004]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    expectStatus(await space.command('/a', 'move', { target_path: '/c' }), 200);
    expectStatus(await space.command('/c', 'move', { targetPath: '/d' }), 200);
    expectStatus(await space.command('/b', 'reorder', { target_path: '/d', move_position: 'before' }), 200);
    expect(await space.names()).toEqual(['b', 'd']);
  });

  it('answers 501 when there is no such command [CMD-005]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    const answers = [
      await space.command('/a', 'explode'),
      await space.post('/a/svc:explode', {}),
      await space.post('/a?command=explode', {}),
      await space.get('/a?command=explode'),
      await space.command('/a', 'constructor'),
    ];
    for (const { json, status } of answers) {
      expect(status).toBe(501);
      expect(json.code).toBe('COMMAND_NOT_IMPLEMENTED');
    }
  });

  it('takes an empty body as {} [CMD-006]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    expectStatus(await space.post('/a/svc:publish'), 200);
    expect((await space.node('/a')).published_at).not.toBeNull();
  });

  it('answers 404 when there is no such node [CMD-007]', async () => {
    const space = await client.workspace();
    await space.add('/', 'b');
    const bodies = {
      rename: { newName: 'x' },
      move: { targetPath: '/x' },
      copy: { targetPath: '/x' },
      copy_tree: { targetPath: '/x' },
      publish: {},
      reorder: { targetPath: '/b' },
      create_version: {},
      translate: { locale: 'de', translations: { '/a': 1 } },
      'add-relation': { targetWorkspace: space.name, targetPath: '/b' },
    };
    for (const [command, body] of Object.entries(bodies)) {
      const { json, status } = await space.command('/missing', command, body);
      expect(status, command).toBe(404);
      expect(json.code).toBe('NODE_NOT_FOUND');
    }
  });

  it('refuses GET for a command that writes [HTTP-016]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    const answer = await space.get('/a/svc:rename');
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toContain('POST');
  });

  it('answers what was committed when message and actor are given [CMD-008]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    const runs = [
      ['/a', 'rename', { newName: 'c' }],
      ['/c', 'move', { targetPath: '/b/c' }],
      ['/b/c', 'copy', { targetPath: '/d' }],
      ['/b', 'copy_tree', { targetPath: '/e' }],
    ] as const;
    for (const [path, command, body] of runs) {
      const answer = expectStatus(await space.command(path, command, { ...body, ...explicit }), 200);
      expect(answer.json).toEqual({ revision: revisionOf(answer), committed: true });
      const record = await client.revision(answer.json.revision);
      expect(record).toMatchObject({ message: 'told', actor: 'ann' });
    }
    expect((await space.command('/d', 'rename', { newName: 'f', message: 'only this' })).json).toEqual({});
  });
});

describe('rename', () => {
  it('gives the node another name [CMD-009, CMD-013]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/a/b/c');
    const { id } = await space.node('/a/b/c');
    const answer = expectStatus(await space.command('/a', 'rename', { newName: 'z' }), 200);
    expect(answer.json).toEqual({});
    expect((await space.get('/a')).status).toBe(404);
    expect((await space.get('/a/b/c')).status).toBe(404);
    expect((await space.node('/z')).name).toBe('z');
    expect(await space.node('/z/b/c')).toMatchObject({ id, parent: 'b' });
    expect((await space.node('/z/b')).parent).toBe('z');
  });

  it('needs a name [CMD-010]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    const answer = await space.command('/a', 'rename', {});
    expect(answer.status).toBe(422);
    expect(answer.text).toContain('`newName`');
  });

  it('cleans the name, and refuses one with a slash [CMD-011]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    await expectRefused(space, () => space.command('/a', 'rename', { newName: 'bad/name' }), 400);
    expectStatus(await space.command('/a', 'rename', { newName: ' Hello World ' }), 200);
    expect(await space.names()).toEqual(['hello-world']);
  });

  it('does not take the name of a sibling [CMD-012]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/a/x', '/a/y');
    await expectRefused(space, () => space.command('/a', 'rename', { newName: 'b' }), 400, 409);
    await expectRefused(space, () => space.command('/a/x', 'rename', { newName: 'y' }), 400, 409);
  });

  it('keeps the place among the siblings [CMD-009]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/c');
    await space.done('/b', 'rename', { newName: 'renamed' });
    expect(await space.names()).toEqual(['a', 'renamed', 'c']);
  });
});

describe('move', () => {
  it('takes the full new path; ids stay and descendants follow [CMD-014]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/dst');
    const ids = [(await space.node('/a')).id, (await space.node('/a/b')).id];
    expect(expectStatus(await space.command('/a', 'move', { targetPath: '/dst/n' }), 200).json).toEqual({});
    expect(await space.node('/dst/n')).toMatchObject({ id: ids[0], name: 'n', parent: 'dst' });
    expect(await space.node('/dst/n/b')).toMatchObject({ id: ids[1], parent: 'n' });
    expect((await space.get('/a/b')).status).toBe(404);
    expect((await space.get(`/$ref/${ids[1]}`)).json.path).toBe('/dst/n/b');
  });

  it('changes nothing where the node is, as a rename to its own name does [CMD-051]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b');
    const before = await space.node('/a/b');
    const head = await client.headRevision();
    expect(expectStatus(await space.command('/a/b', 'move', { targetPath: '/a/b' }), 200).json).toEqual({});
    expect(expectStatus(await space.command('/a/b', 'rename', { newName: 'b' }), 200).json).toEqual({});
    expect(await space.node('/a/b')).toEqual(before);
    expect(await client.headRevision()).toBe(head);
  });

  it('does not go where a node is [CMD-015]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/dst', '/dst/a');
    await expectRefused(space, () => space.command('/a', 'move', { targetPath: '/b' }), 400, 409);
    await expectRefused(space, () => space.command('/a', 'move', { targetPath: '/dst/a' }), 400, 409);
  });

  it('does not go into itself [CMD-016]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b');
    await expectRefused(space, () => space.command('/a', 'move', { targetPath: '/a/b/a' }), 400);
    await expectRefused(space, () => space.command('/a', 'move', { targetPath: '/a/c' }), 400);
    await expectRefused(space, () => space.command('/a', 'copy_tree', { targetPath: '/a/b/a' }), 400);
  });

  it('requires its new parent [CMD-017]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    await expectRefused(space, () => space.command('/a', 'move', { targetPath: '/no/a' }), 404);
  });

  it('needs a place that allows the type [CMD-018, WSP-016]', async () => {
    const space = await client.workspace({ allowed_node_types: [], allowed_root_node_types: ['svc:Folder'] });
    await space.add('/', 'f');
    await space.add('/f', 'page', { title: 't' }, 'svc:Page');
    await expectRefused(space, () => space.command('/f/page', 'move', { targetPath: '/page' }), 400);
    await expectRefused(space, () => space.command('/f/page', 'copy', { targetPath: '/page' }), 400);
  });
});

describe('copy', () => {
  it('answers a new node and leaves the source [CMD-019]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { description: 'd', list: [1] });
    await space.add('/a', 'child');
    await space.done('/a', 'publish');
    const source = await space.node('/a');
    const { json } = expectStatus(await space.command('/a', 'copy', { targetPath: '/b' }), 200);
    expect(json).toMatchObject({
      path: '/b',
      published_at: null,
      published_by: null,
      version: 1,
      properties: { description: 'd', list: [1] },
    });
    expect(json.id).not.toBe(source.id);
    expect(Date.parse(json.created_at)).toBeGreaterThanOrEqual(Date.parse(source.created_at));
    expect(await space.names('/b')).toEqual([]);
    expect(await space.node('/a')).toEqual(source);
  });

  it('takes the parent with newName and the full path without [CMD-020]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/dst');
    expect((await space.done('/a', 'copy', { targetPath: '/dst', newName: 'N 1' })).json.path).toBe(
      '/dst/n-1',
    );
    expect((await space.done('/a', 'copy', { targetPath: '/dst/n2' })).json.path).toBe('/dst/n2');
  });

  it('with message and actor makes the node, and is refused when repeated [CMD-021]', async () => {
    const space = await client.workspace();
    await space.addAll('/src', '/copy-dest');
    await space.done('/src', 'publish');
    const body = { targetPath: '/copy-dest', newName: 'copy-result', ...explicit };
    expect((await space.command('/src', 'copy', body)).status).toBe(200);
    const copy = await space.node('/copy-dest/copy-result');
    expect(copy).toMatchObject({ published_at: null, published_by: null });
    expect(copy.id).not.toBe((await space.node('/src')).id);
    await expectRefused(space, () => space.command('/src', 'copy', body), 400, 409);
  });

  it('requires its new parent [CMD-022]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    await expectRefused(space, () => space.command('/a', 'copy', { targetPath: '/no/b' }), 404);
    await expectRefused(space, () => space.command('/a', 'copy', { targetPath: '/no', newName: 'b' }), 404);
  });
});

describe('copy_tree', () => {
  it('copies everything with new ids in the same order [CMD-023]', async () => {
    const space = await client.workspace();
    await space.addAll('/src', '/src/a', '/src/a/c', '/src/a/b', '/src/a/c/d', '/dst');
    await space.done('/src/a/b', 'reorder', { targetPath: '/src/a/c', movePosition: 'before' });
    await space.done('/src/a', 'copy_tree', { targetPath: '/dst/a' });
    expect(await space.names('/dst/a')).toEqual(['b', 'c']);
    expect(await space.names('/dst/a/c')).toEqual(['d']);
    for (const path of ['/a', '/a/b', '/a/c', '/a/c/d']) {
      expect((await space.node(`/dst${path}`)).id).not.toBe((await space.node(`/src${path}`)).id);
    }
  });

  it('copies translations at every level [CMD-024]', async () => {
    const space = await client.workspace();
    await space.add('/', 'src', { description: 'a' });
    await space.add('/src', 'in', { description: 'b' });
    for (const path of ['/src', '/src/in']) {
      await space.done(path, 'translate', { locale: 'de', translations: { '/description': `de ${path}` } });
    }
    await space.done('/src', 'copy_tree', { targetPath: '/dst' });
    expect((await space.get('/dst?lang=de')).json.properties.description).toBe('de /src');
    expect((await space.get('/dst/in?lang=de')).json.properties.description).toBe('de /src/in');
  });

  it('does not copy onto itself [CMD-025]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b');
    await expectRefused(space, () => space.command('/a', 'copy_tree', { targetPath: '/a' }), 400, 409);
  });
});

describe('reorder', () => {
  it('places before and after a sibling [CMD-026, CMD-031]', async () => {
    const space = await client.workspace();
    await space.addAll('/x', '/y', '/z');
    const answer = await space.done('/z', 'reorder', { targetPath: '/y', movePosition: 'before' });
    expect(answer.json).toEqual({});
    expect(await space.names()).toEqual(['x', 'z', 'y']);
    await space.done('/y', 'reorder', { targetPath: '/x', movePosition: 'before' });
    expect(await space.names()).toEqual(['y', 'x', 'z']);
    await space.done('/y', 'reorder', { targetPath: '/z' });
    expect(await space.names()).toEqual(['x', 'z', 'y']);
    await space.done('/x', 'reorder', { targetPath: '/z', movePosition: 'after' });
    expect(await space.names()).toEqual(['z', 'x', 'y']);
  });

  it('puts d before b in b, c, d [CMD-027]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/a/c', '/a/d');
    await space.done('/a/d', 'reorder', { targetPath: '/a/b', movePosition: 'before' });
    expect(await space.names('/a')).toEqual(['d', 'b', 'c']);
  });

  it('onto itself changes nothing [CMD-028]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    const before = await client.headRevision();
    const answer = await space.command('/a', 'reorder', { targetPath: '/a', movePosition: 'before' });
    expect(answer.status).toBe(200);
    expect(await space.names()).toEqual(['a', 'b']);
    expect(await client.headRevision()).toBe(before);
  });

  it('needs a sibling that is one [CMD-029, CMD-030]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b', '/b/c');
    await expectRefused(space, () => space.command('/a', 'reorder', { targetPath: '/no' }), 404);
    await expectRefused(space, () => space.command('/a', 'reorder', { targetPath: '/b/c' }), 400);
    const aside = { targetPath: '/b', movePosition: 'beside' };
    await expectRefused(space, () => space.command('/a', 'reorder', aside), 400);
  });
});

describe('publish', () => {
  it('sets both fields, unpublish clears them, trees go down [CMD-032, CMD-033]', async () => {
    const space = await client.workspace();
    const paths = ['/a', '/a/b', '/a/b/c'];
    await space.addAll(...paths);
    const states = () =>
      Promise.all(paths.map(async (path) => (await space.node(path)).published_at !== null));
    await space.done('/a', 'publish');
    expect(await states()).toEqual([true, false, false]);
    expect((await space.node('/a')).published_by).toBe('admin');
    await space.done('/a', 'publish_tree');
    expect(await states()).toEqual([true, true, true]);
    await space.done('/a/b', 'unpublish');
    expect(await states()).toEqual([true, false, true]);
    await space.done('/a', 'unpublish_tree');
    expect(await states()).toEqual([false, false, false]);
    expect((await space.node('/a/b/c')).published_by).toBeNull();
  });

  it('names the actor it is given, else the caller [CMD-034]', async () => {
    const space = await client.workspace();
    await space.addAll('/a', '/b');
    await space.done('/a', 'publish', { actor: 'editor-in-chief' });
    await space.done('/b', 'publish');
    expect((await space.node('/a')).published_by).toBe('editor-in-chief');
    expect((await space.node('/b')).published_by).toBe('admin');
  });

  it('keeps a version noted as pre-publish [CMD-035]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { n: 1 });
    await space.done('/a', 'publish');
    const { json } = await space.get('/a/svc:version');
    expect(json).toHaveLength(1);
    expect(json[0].note.toLowerCase()).toMatch(/pre.?publish/);
  });
});

describe('versions', () => {
  it('are numbered, noted and kept as they were [CMD-036, CMD-037]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { n: 1 });
    expect((await space.done('/a', 'create_version', { note: 'first' })).json).toEqual({ version: 1 });
    await space.put('/a', { properties: { n: 2, later: true } });
    expect((await space.done('/a', 'create_version')).json).toEqual({ version: 2 });
    const { json } = expectStatus(await space.get('/a/svc:version'), 200);
    expect(json.map((version: { version: number }) => version.version)).toEqual([2, 1]);
    expect(json[1]).toMatchObject({ version: 1, note: 'first' });
    const one = expectStatus(await space.get('/a/svc:version/1'), 200).json;
    expect(one.node_id).toBe((await space.node('/a')).id);
    expect(one.id).toBe(`${one.node_id}:1`);
    expect(one.node_data.properties).toMatchObject({ n: 1 });
    expect(one.node_data.properties).not.toHaveProperty('later');
  });

  it('answer 404 for a number that is not there [CMD-038, CMD-040]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    const { json, status } = await space.get('/a/svc:version/7');
    expect(status).toBe(404);
    expect(json.code).toBe('NOT_FOUND');
    await expectRefused(space, () => space.command('/a', 'restore_version', { version: 7 }), 404);
    expect((await space.get('/a/svc:version/x')).status).toBe(400);
  });

  it('are restored as a new revision without what came later [CMD-039]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a', { n: 1 });
    await space.done('/a', 'create_version');
    await space.put('/a', { properties: { n: 2, later: true } });
    const before = await client.headRevision();
    const answer = await space.done('/a', 'restore_version', { version: 1 });
    expect(answer.json.properties).toEqual({ n: 1, $supertypes: [], $mixins: [] });
    expect((await space.node('/a')).properties).toEqual(answer.json.properties);
    expect((await client.revision(revisionOf(answer))).parent).toBe(before);
  });

  it('are immutable [CMD-041]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    await space.done('/a', 'create_version');
    for (const command of ['delete_version', 'update_version_note']) {
      const { json, status } = await space.command('/a', command, { version: 1, note: 'x' });
      expect(status).toBe(400);
      expect(json.code).toBe('VALIDATION_FAILED');
    }
    expect((await space.get('/a/svc:version')).json).toHaveLength(1);
  });

  it('are not kept for a type that is not versionable [CMD-042]', async () => {
    const space = await client.workspace();
    await client.defineType({ name: 'commands:Plain', versionable: false });
    await space.add('/', 'a', {}, 'commands:Plain');
    expect((await space.command('/a', 'create_version')).status).toBe(400);
    await space.done('/a', 'publish');
    expect((await space.get('/a/svc:version')).json).toEqual([]);
  });
});

describe('relations', () => {
  const to = (space: Space, rest: object = {}) => ({
    targetWorkspace: space.name,
    targetPath: '/to',
    ...rest,
  });

  it('show on both sides until they are removed [CMD-043, CMD-047]', async () => {
    const space = await client.workspace();
    const from = await space.add('/', 'from');
    const target = await space.add('/', 'to');
    const added = await space.done(
      '/from',
      'add-relation',
      to(space, { relationType: 'likes', weight: 0.5 }),
    );
    expect(added.json).toEqual({});
    const relation = expect.objectContaining({
      target: target.id,
      workspace: space.name,
      relation_type: 'likes',
      weight: 0.5,
    });
    expect((await space.get('/from/svc:relations')).json).toEqual({ outgoing: [relation], incoming: [] });
    expect((await space.get('/to?command=relations')).json).toEqual({
      outgoing: [],
      incoming: [
        {
          source_workspace: space.name,
          source_node_id: from.id,
          relation: expect.objectContaining({ relation_type: 'likes' }),
        },
      ],
    });
    expect((await space.done('/from', 'remove-relation', to(space))).json).toEqual({ removed: true });
    expect((await space.done('/from', 'remove-relation', to(space))).json).toEqual({ removed: false });
    expect((await space.done('/to', 'relations')).json).toEqual({ outgoing: [], incoming: [] });
  });

  it('need their target [CMD-044]', async () => {
    const space = await client.workspace();
    await space.add('/', 'from');
    await expectRefused(space, () => space.command('/from', 'add-relation', to(space)), 404);
  });

  it('are not shown when their target is gone, by the node as little as by the command [CMD-049]', async () => {
    const space = await client.workspace();
    await space.addAll('/from', '/to');
    await space.done('/from', 'add-relation', to(space));
    const before = await space.get('/from');
    expect(before.json.relations).toHaveLength(1);
    await space.delete('/to');
    const after = await space.get('/from');
    expect(after.json).toEqual({ ...before.json, relations: [] });
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect((await space.get('/')).json).toEqual([after.json]);
    expect((await space.get('/from/svc:relations')).json.outgoing).toEqual([]);
  });

  it('are one per source, target and type; repeating changes the weight [CMD-045, CMD-046]', async () => {
    const space = await client.workspace();
    await space.addAll('/from', '/to');
    await space.done('/from', 'add-relation', to(space));
    await space.done('/from', 'add-relation', to(space, { weight: 3, relationType: 'references' }));
    await space.done('/from', 'add-relation', to(space, { relationType: 'other' }));
    const { outgoing } = (await space.get('/from/svc:relations')).json;
    expect(outgoing).toHaveLength(2);
    const kinds = outgoing.map(({ relation_type, weight }: Record<string, unknown>) => [
      relation_type,
      weight,
    ]);
    expect(kinds).toEqual(
      expect.arrayContaining([
        ['references', 3],
        ['other', null],
      ]),
    );
  });
});

describe('audit_log', () => {
  it('answers the audit entries of the node [CMD-048]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    await space.put('/a', { properties: { n: 1 } });
    const { json } = await space.done('/a', 'audit_log');
    expect(json.map((entry: { action: string }) => entry.action)).toEqual(['Update', 'Create']);
  });
});

describe('commit', () => {
  const creating = (name: string, rest: object = {}) => ({
    type: 'create',
    node: { name, node_type: 'svc:Folder', ...rest },
  });

  it('of three creates is one revision [COMMIT-001, COMMIT-007]', async () => {
    const space = await client.workspace();
    const answer = await space.done('/', 'commit', {
      ...explicit,
      operations: [creating('a'), creating('b'), creating('c')],
    });
    expect(answer.json).toEqual({ revision: revisionOf(answer), operations_count: 3 });
    expect(await space.names()).toEqual(['a', 'b', 'c']);
    const record = await client.revision(answer.json.revision);
    expect(record).toMatchObject({ message: 'told', actor: 'ann' });
    const ids = await Promise.all(['/a', '/b', '/c'].map(async (path) => (await space.node(path)).id));
    expect(record.changed_nodes.map((change: { node_id: string }) => change.node_id).sort()).toEqual(
      ids.sort(),
    );
  });

  it('needs a message, an operation and a type it knows [COMMIT-002]', async () => {
    const space = await client.workspace();
    const commit = (body: object) => space.command('/', 'commit', body);
    await expectRefused(space, () => commit({ message: 'm', operations: [] }), 400);
    await expectRefused(space, () => commit({ message: 'm', operations: [{ type: 'explode' }] }), 400);
    const silent = await expectRefused(space, () => commit({ operations: [creating('a')] }), 422);
    expect(silent.text).toContain('`message`');
  });

  it('merges keys where PUT replaces [COMMIT-003]', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'a', { keep: 1, change: 1 });
    await space.done('/', 'commit', {
      message: 'm',
      operations: [{ type: 'update', node_id: id, properties: { change: 2, add: 3 } }],
    });
    expect((await space.node('/a')).properties).toMatchObject({ keep: 1, change: 2, add: 3 });
    await space.put('/a', { properties: { add: 4 } });
    expect((await space.node('/a')).properties).not.toHaveProperty('keep');
  });

  it('leaves nothing when one operation fails [COMMIT-004]', async () => {
    const space = await client.workspace();
    await space.add('/', 'a');
    const before = await client.headRevision();
    const operations = [creating('b'), { type: 'delete', node_id: 'no-such' }, creating('c')];
    await expectRefused(space, () => space.command('/', 'commit', { message: 'm', operations }), 404);
    expect(await client.headRevision()).toBe(before);
  });

  it('takes every kind of operation, each seeing the ones before [COMMIT-005, COMMIT-006]', async () => {
    const space = await client.workspace();
    const old = await space.add('/', 'old');
    const moved = await space.add('/', 'moved');
    const operations = [
      creating('top', { id: 'top-id' }),
      { ...creating('in', { id: 'in-id' }), parent_path: '/top' },
      { type: 'update', node_id: 'top-id', properties: { n: 1 } },
      { type: 'move', node_id: moved.id, new_path: '/top/moved' },
      { type: 'rename', node_id: 'top-id', new_name: 'renamed' },
      { type: 'copy', source_path: '/renamed', target_parent: '/', new_name: 'shallow' },
      { type: 'copy_tree', source_path: '/renamed', target_parent: '/', new_name: 'whole' },
      { type: 'delete', node_id: old.id },
    ];
    const { json } = await space.done('/', 'commit', { message: 'm', operations });
    expect(json.operations_count).toBe(8);
    expect(await space.names()).toEqual(['renamed', 'shallow', 'whole']);
    expect(await space.names('/whole')).toEqual(['in', 'moved']);
    expect(await space.names('/shallow')).toEqual([]);
    expect((await space.node('/whole')).properties.n).toBe(1);
    expect((await space.node('/renamed/moved')).id).toBe(moved.id);
  });

  it('lets two nodes trade a unique value, and names those that have one value [COMMIT-010]', async () => {
    const properties = [{ name: 'code', type: 'String', unique: true }];
    await client.defineType({ name: 'commands:Coded', properties });
    const space = await client.workspace();
    const a = await space.add('/', 'a', { code: 'x' }, 'commands:Coded');
    const b = await space.add('/', 'b', { code: 'y' }, 'commands:Coded');
    const updating = ({ id }: { id: string }, code: string) => {
      return { type: 'update', node_id: id, properties: { code } };
    };
    await space.done('/', 'commit', { message: 'm', operations: [updating(a, 'y'), updating(b, 'x')] });
    expect((await space.node('/a')).properties.code).toBe('y');
    expect((await space.node('/b')).properties.code).toBe('x');
    const operations = [updating(a, 'z'), updating(b, 'z')];
    const refused = await expectRefused(
      space,
      () => space.command('/', 'commit', { message: 'm', operations }),
      400,
    );
    expect(refused.json.message).toMatch(/^Operation 1 \(update\): .*'\/b' and '\/a' have the same value$/);
  });

  it('has commands of one operation [COMMIT-008]', async () => {
    const space = await client.workspace();
    const { id } = await space.add('/', 'a', { n: 1 });
    const run = async (command: string, body: object) => {
      const answer = await space.done('/a', command, { message: 'm', ...body });
      expect(answer.json).toEqual({ revision: revisionOf(answer), operations_count: 1 });
    };
    await run('save', { operations: [{ type: 'update', node_id: id, properties: { n: 2 } }] });
    await run('create', { operations: [creating('child')] });
    expect((await space.node('/a')).properties.n).toBe(2);
    expect(await space.names('/a')).toEqual(['child']);
    const two = { message: 'm', operations: [creating('x'), creating('y')] };
    await expectRefused(space, () => space.command('/a', 'create', two), 400);
    await run('delete', {});
    expect(await space.names()).toEqual([]);
  });
});
