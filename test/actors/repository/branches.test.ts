import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  BranchAddress,
  BranchEntry,
  BranchUnregistered,
  RegisterBranch,
  RepositoryState,
  TagEntry,
  TagRemoved,
} from '#actors/repository/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const actor = 'default/blog~1/repository';

let fixture: HostFixture;

beforeEach(async () => {
  fixture = await HostFixture.open([repositoryActor]);
  await fixture.host.create(actor);
  await send({
    type: 'InitializeRepository',
    repositoryId: 'blog',
    description: null,
    defaultBranch: 'main',
    defaultBranchUid: 'b0',
    defaultLanguage: 'en',
    supportedLanguages: [],
  });
});

afterEach(() => fixture.close());

function send<Result>(command: { type: string } & Record<string, unknown>, caller = callers.admin) {
  return fixture.command<Result>(actor, command, caller);
}

function ask<Answer>(query: { type: string } & Record<string, unknown>, caller = callers.engine) {
  return fixture.query<Answer>(actor, query, caller);
}

function register(name: string, uid: string, more: Partial<RegisterBranch['branch']> = {}) {
  const branch = {
    name,
    uid,
    createdBy: 'system',
    createdFrom: null,
    upstreamBranch: 'main',
    protected: false,
    description: null,
    ...more,
  };
  return send<BranchEntry>({ type: 'RegisterBranch', branch, requiresUpstream: true });
}

function tag(name: string, branch: BranchAddress, more: Partial<TagEntry> = {}) {
  const entry = { name, revision: '5-0', createdBy: 'ann', message: null, protected: false, branch, ...more };
  return send<TagEntry>({ type: 'PutTag', tag: entry });
}

const names = () => ask<BranchEntry[]>({ type: 'ListBranches' }).map(({ name }) => name);
const retired = () => ask<BranchAddress[]>({ type: 'ListRetiredBranches' });
const findTag = (name: string) => ask<TagEntry | undefined>({ type: 'FindTag', name });

describe('branches of a repository', () => {
  it('are listed by name with the time they were registered [BR-001]', async () => {
    const entry = await register('dev', 'b1', { createdFrom: '5-0', protected: true });
    expect(entry).toMatchObject({ name: 'dev', uid: 'b1', createdFrom: '5-0', protected: true });
    expect(new Date(entry.createdAt).toISOString()).toBe(entry.createdAt);
    expect(names()).toEqual(['dev', 'main']);
    expect(ask<RepositoryState>({ type: 'ReadRepository' }).branches).toEqual(['dev', 'main']);
    expect(fixture.events).toContainEqual({ type: 'BranchCreated', name: 'dev' });
  });

  it('share their names with tags [BR-029]', async () => {
    await tag('v1', { name: 'main', uid: 'b0' });
    await expect(register('main', 'b1')).rejects.toMatchObject({ code: 'BRANCH_ALREADY_EXISTS' });
    await expect(register('v1', 'b1')).rejects.toMatchObject({ code: 'BRANCH_ALREADY_EXISTS' });
    await expect(register('no spaces', 'b1')).rejects.toMatchObject({ code: 'INVALID_BRANCH_NAME' });
    for (const name of ['v1', 'main']) {
      await expect(tag(name, { name: 'main', uid: 'b0' })).rejects.toMatchObject({
        code: 'TAG_ALREADY_EXISTS',
      });
    }
  });

  it('need an upstream that exists, unless it is only assumed', async () => {
    await expect(register('dev', 'b1', { upstreamBranch: 'nope' })).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
      field: 'upstream_branch',
    });
    const branch = {
      name: 'dev',
      uid: 'b1',
      createdBy: 'x',
      createdFrom: null,
      upstreamBranch: 'nope',
      protected: false,
      description: null,
    };
    await send({ type: 'RegisterBranch', branch, requiresUpstream: false });
    await expect(send({ type: 'UpdateBranch', name: 'dev', upstreamBranch: 'other' })).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
    });
    // What is so already may be said again: a branch that was read can be sent back.
    await expect(send({ type: 'UpdateBranch', name: 'dev', upstreamBranch: 'dev' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      field: 'upstream_branch',
    });
    await send({ type: 'UpdateBranch', name: 'dev', upstreamBranch: 'nope', protected: true });
  });

  it('cannot be removed while they are protected or the default [BR-016]', async () => {
    await register('dev', 'b1', { protected: true });
    const remove = (name: string) => send<BranchUnregistered>({ type: 'UnregisterBranch', seal: 's', name });
    await expect(remove('dev')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(remove('main')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(remove('nope')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await send({ type: 'UpdateBranch', name: 'dev', protected: false });
    await send({ type: 'UpdateRepository', defaultBranch: 'dev' });
    await expect(remove('dev')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await remove('main')).toEqual({ branch: { name: 'main', uid: 'b0' }, isRetired: false });
    expect(names()).toEqual(['dev']);
  });

  it('are named to administrators and the engine only', async () => {
    for (const type of ['ListBranches', 'ListTags']) {
      expect(() => ask({ type }, callers.anonymous)).toThrow(
        expect.objectContaining({ code: 'UNAUTHORIZED' }),
      );
      expect(() => ask({ type }, callers.otherTenant)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
    }
    for (const type of ['FindTag', 'ListRetiredBranches']) {
      expect(() => ask({ type, name: 'x' }, callers.admin)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }),
      );
    }
    await expect(
      send({ type: 'UnregisterBranch', seal: 's', name: 'main' }, callers.anonymous),
    ).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });
});

describe('tags of a repository', () => {
  const dev = { name: 'dev', uid: 'b1' };
  const other = { name: 'other', uid: 'b2' };

  beforeEach(async () => {
    await register(dev.name, dev.uid);
    await register(other.name, other.uid);
  });

  it('keep the content of a deleted branch until the last of them is removed [TAG-004]', async () => {
    await tag('v1', dev);
    await tag('v2', dev);
    expect(await send({ type: 'UnregisterBranch', seal: 's', name: 'dev' })).toEqual({
      branch: dev,
      isRetired: true,
    });
    expect(names()).toEqual(['main', 'other']);
    expect(retired()).toEqual([dev]);
    expect(findTag('v1')).toMatchObject({ branch: dev, revision: '5-0' });
    expect(await tag('v3', dev)).toMatchObject({ branch: dev });
    for (const name of ['v1', 'v2']) {
      expect(await send<TagRemoved>({ type: 'RemoveTag', name })).toEqual({ released: null });
    }
    expect(await send<TagRemoved>({ type: 'RemoveTag', name: 'v3' })).toEqual({ released: dev });
    expect(retired()).toEqual([]);
    await expect(tag('v4', dev)).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
  });

  it('pass to a branch that has their revision as well, if it is still there', async () => {
    await tag('passes', dev);
    await tag('stays', dev);
    const successors = { passes: other, stays: { name: 'other', uid: 'an-earlier-one' } };
    expect(await send({ type: 'UnregisterBranch', seal: 's', name: 'dev', successors })).toEqual({
      branch: dev,
      isRetired: true,
    });
    expect(findTag('passes')?.branch).toEqual(other);
    expect(findTag('stays')?.branch).toEqual(dev);
  });

  it('are removed unless protected [TAG-005, TAG-007]', async () => {
    await tag('free', dev);
    await tag('kept', dev, { protected: true });
    const remove = (name: string) => send<TagRemoved>({ type: 'RemoveTag', name });
    expect(await remove('free')).toEqual({ released: null });
    await expect(remove('kept')).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(remove('free')).rejects.toMatchObject({ code: 'TAG_NOT_FOUND' });
    expect(ask<TagEntry[]>({ type: 'ListTags' }).map(({ name }) => name)).toEqual(['kept']);
  });

  it('and branches survive a restart', async () => {
    await tag('v1', dev);
    await send({ type: 'UnregisterBranch', seal: 's', name: 'dev' });
    await fixture.reopen();
    expect(names()).toEqual(['main', 'other']);
    expect(retired()).toEqual([dev]);
    expect(findTag('v1')).toMatchObject({ branch: dev });
  });
});

describe('the lists of a repository', () => {
  /** As many bytes as a text of the largest allowed length can have. */
  const longest = '€'.repeat(10_000);
  const main = { name: 'main', uid: 'b0' };
  const lists: Readonly<Record<string, (name: string, text: string | null) => Promise<unknown>>> = {
    tags: (name, message) => tag(name, main, { message }),
    branches: (name, description) => register(name, `uid-${name}`, { description }),
    workspaces: (name, text) =>
      send({
        type: 'PutWorkspace',
        name,
        definition: {
          description: 'a workspace',
          allowed_node_types: text === null ? ['svc:Folder'] : longTypes,
          allowed_root_node_types: ['svc:Folder'],
        },
      }),
  };
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const longTypes = Array.from({ length: 500 }, (_, index) => {
    const [first, second] = [letters[Math.floor(index / 26)], letters[index % 26]];
    return `a:${first}${second}${'x'.repeat(200)}`;
  });

  it.each([
    ['tags', 'BR-050'],
    ['branches', 'BR-050'],
    ['workspaces', 'WSP-026'],
  ])('take a limited space, because a list is decoded in one step: %s [%s]', async (noun) => {
    const add = lists[noun] as (typeof lists)[string];
    let refused: unknown;
    let count = 0;
    while (refused === undefined && count < 200) {
      refused = await add(`n${count}`, longest).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (refused === undefined) count += 1;
    }
    expect(count).toBeGreaterThan(70);
    expect(refused).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(
        new RegExp(`^The ${noun} of a repository take at most [48] MiB together`),
      ),
    });
    // What was refused was not written, and what is there may be written again.
    if (noun === 'workspaces') await add('n0', null);
    if (noun === 'branches')
      await send({ type: 'UpdateBranch', name: 'n0', description: null, protected: true });
    if (noun === 'tags') await send({ type: 'RemoveTag', name: 'n0' });
    await add(`n${count}`, null);
  });

  it('refuse a longer description where there is no space', async () => {
    let count = 0;
    while (count < 200) {
      const isThere = await register(`n${count}`, `u${count}`, { description: longest }).catch(
        () => undefined,
      );
      if (isThere === undefined) break;
      count += 1;
    }
    const short = await register('short', 'u-short').catch(() => undefined);
    expect(short).toBeDefined();
    await expect(send({ type: 'UpdateBranch', name: 'short', description: longest })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    expect(await send({ type: 'UpdateBranch', name: 'n0', protected: false })).toMatchObject({ name: 'n0' });
  });
});
