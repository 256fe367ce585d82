import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  BranchEntry,
  BuiltInsInstalled,
  BuiltInUpdate,
  RepositorySettings,
  RepositoryState,
  WorkspaceList,
  WorkspacePut,
} from '#actors/repository/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { RepositoryTable, type WorkspaceRow } from '#actors/repository/repository-tables.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { readRecord, writeRecord } from '#runtime/commit/record-store.ts';
import { builtInWorkspaces } from '#runtime/content/built-in/workspaces.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const actor = 'default/blog~1/repository';
const anything = { allowed_node_types: [], allowed_root_node_types: [] };

/** The repository kind with one more command, which makes a workspace look as an older build left it. */
const agingKind: ActorKind = {
  ...repositoryActor,
  create(context) {
    const inner = repositoryActor.create(context);
    return {
      execute(command, turn) {
        const { type, name } = command as { type: string; name: string };
        if (type !== 'Age') return inner.execute(command, turn);
        const row = readRecord<WorkspaceRow>(turn, RepositoryTable.workspaces, name) as WorkspaceRow;
        const older = { ...row.workspace, description: 'older' };
        const builtIn = { version: 0, isChanged: row.builtIn?.isChanged ?? false };
        writeRecord(turn, RepositoryTable.workspaces, { workspace: older, builtIn }, name);
      },
      query: (query, context_) => inner.query(query, context_),
    };
  },
};

let fixture: HostFixture;

beforeEach(async () => {
  fixture = await HostFixture.open([agingKind]);
  await fixture.host.create(actor);
  await send({
    type: 'InitializeRepository',
    repositoryId: 'blog',
    description: null,
    defaultBranch: 'main',
    defaultBranchUid: 'b1',
    defaultLanguage: 'en',
    supportedLanguages: ['de'],
  });
});

afterEach(() => fixture.close());

function send<Result>(command: { type: string } & Record<string, unknown>, caller = callers.admin) {
  return fixture.command<Result>(actor, command, caller);
}

function ask<Answer>(query: { type: string } & Record<string, unknown>, caller = callers.engine) {
  return fixture.query<Answer>(actor, query, caller);
}

function workspace(name: string): Workspace {
  return ask<Workspace>({ type: 'ReadWorkspace', name });
}

describe('a new repository', () => {
  it('has its settings and an unprotected default branch made by the system [BUILT-003]', () => {
    expect(ask<RepositoryState>({ type: 'ReadRepository' })).toMatchObject({
      repositoryId: 'blog',
      description: null,
      defaultBranch: 'main',
      branches: ['main'],
      languages: { defaultLanguage: 'en', fallbackChains: {} },
    });
    expect(ask<BranchEntry>({ type: 'FindBranch', name: 'main' })).toEqual({
      name: 'main',
      uid: 'b1',
      createdAt: expect.any(String),
      createdBy: 'system',
      createdFrom: null,
      upstreamBranch: 'main',
      protected: false,
      description: null,
    });
    expect(ask({ type: 'FindBranch', name: 'nope' })).toBeUndefined();
  });

  it('has every built-in workspace [BUILT-002]', () => {
    const { items, total } = ask<WorkspaceList>({ type: 'ListWorkspaces' });
    expect(items.map((item) => item.name)).toEqual(builtInWorkspaces.map((shipped) => shipped.name).sort());
    expect(total).toBe(builtInWorkspaces.length);
  });

  it('is not filled a second time [BUILT-012]', async () => {
    await send({ type: 'UpdateRepository', description: 'mine' });
    await send({
      type: 'InitializeRepository',
      repositoryId: 'other',
      description: 'theirs',
      defaultBranch: 'trunk',
      defaultBranchUid: 'b2',
      defaultLanguage: 'fr',
      supportedLanguages: [],
    });
    expect(ask<RepositoryState>({ type: 'ReadRepository' })).toMatchObject({
      repositoryId: 'blog',
      description: 'mine',
      defaultBranch: 'main',
      branches: ['main'],
    });
  });
});

describe('settings for a branch', () => {
  it('are answered at once, the same objects until something changes', async () => {
    const first = ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'default' });
    expect(first.workspace?.name).toBe('default');
    const second = ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'default' });
    expect(second.workspace).toBe(first.workspace);
    expect(second.languages).toBe(first.languages);
    await send({ type: 'PutWorkspace', name: 'default', definition: { ...anything, description: 'new' } });
    const third = ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'default' });
    expect(third.workspace?.description).toBe('new');
  });

  it('lack a workspace that does not exist', () => {
    for (const name of ['nowhere', '', 'x'.repeat(5_000)]) {
      expect(ask<RepositorySettings>({ type: 'ReadSettings', workspace: name }).workspace).toBeUndefined();
    }
  });

  it('find a workspace by its alias, the first by name of several', async () => {
    const aliased = (alias: string) => ask<string | undefined>({ type: 'FindWorkspaceAlias', alias });
    expect(aliased('SvcAccessControl')).toBe('svc:access_control');
    expect(aliased('SiteMedia')).toBeUndefined();
    for (const name of ['site_media', 'site-media'])
      await send({ type: 'PutWorkspace', name, definition: anything });
    expect(aliased('SiteMedia')).toBe('site-media');
    for (const alias of ['sitemedia', 'site-media', '__proto__', '']) expect(aliased(alias)).toBeUndefined();
  });

  it('show nothing of a command that failed, nor of one that is not durable yet', async () => {
    const sent = Promise.allSettled([
      send({ type: 'PutWorkspace', name: 'bad', definition: { allowed_node_types: [] } }),
      send({ type: 'PutWorkspace', name: 'good', definition: anything }),
    ]);
    expect(ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'good' }).workspace).toBeUndefined();
    const [bad, good] = await sent;
    expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'UNPROCESSABLE_BODY' } });
    expect(good?.status).toBe('fulfilled');
    expect(ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'bad' }).workspace).toBeUndefined();
    expect(ask<RepositorySettings>({ type: 'ReadSettings', workspace: 'good' }).workspace?.name).toBe('good');
  });
});

describe('changing settings', () => {
  it('keeps what is not named', async () => {
    await send({ type: 'UpdateRepository', description: 'first' });
    await send({ type: 'UpdateRepository', supportedLanguages: ['fr'] });
    const state = ask<RepositoryState>({ type: 'ReadRepository' });
    expect(state.description).toBe('first');
    expect([...state.languages.supportedLanguages].sort()).toEqual(['en', 'fr']);
    await send({ type: 'UpdateRepository', description: null });
    expect(ask<RepositoryState>({ type: 'ReadRepository' }).description).toBeNull();
  });

  it('takes only an existing branch as the default', async () => {
    await expect(send({ type: 'UpdateRepository', defaultBranch: 'nope' })).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
    });
    await send({ type: 'UpdateRepository', defaultBranch: 'main' });
  });

  it('does not drop a language that a fallback chain uses', async () => {
    await send({ type: 'UpdateTranslationConfig', patch: { locale_fallback_chains: { de: ['en'] } } });
    await expect(send({ type: 'UpdateRepository', supportedLanguages: ['fr'] })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });
});

describe('workspaces', () => {
  it('report whether they are new and which branch receives their initial structure', async () => {
    const put = (definition: object) => send<WorkspacePut>({ type: 'PutWorkspace', name: 'w', definition });
    expect(await put(anything)).toEqual({ created: true, branch: 'main' });
    const elsewhere = { ...anything, config: { default_branch: 'not-there-yet' } };
    expect(await put(elsewhere)).toEqual({ created: false, branch: 'main' });
    expect(workspace('w').config.default_branch).toBe('not-there-yet');
  });

  it('keep their config when they are replaced without one', async () => {
    const config = { default_branch: 'main', node_type_pins: { 'svc:Page': '5-0' } };
    await send({ type: 'PutWorkspace', name: 'w', definition: { ...anything, config } });
    await send({ type: 'PutWorkspace', name: 'w', definition: anything });
    expect(workspace('w').config).toEqual(config);
    await send({ type: 'PutWorkspaceConfig', name: 'w', config: {} });
    expect(workspace('w').config).toEqual({ default_branch: 'main', node_type_pins: {} });
  });

  it('are paged by name', () => {
    const { items } = ask<WorkspaceList>({ type: 'ListWorkspaces' });
    const page = ask<WorkspaceList>({ type: 'ListWorkspaces', limit: 2, offset: 1 });
    expect(page.items).toEqual(items.slice(1, 3));
    expect(page.total).toBe(items.length);
  });
});

describe('built-in workspaces', () => {
  const updates = () => ask<BuiltInUpdate[]>({ type: 'ListBuiltInUpdates' });
  const install = (more: object = {}) =>
    send<BuiltInsInstalled>({ type: 'InstallBuiltInWorkspaces', ...more });

  it('are not written again while they are current [BUILT-014]', async () => {
    const before = workspace('default');
    expect(updates()).toEqual([]);
    expect(await install()).toEqual({ installed: [], skipped: [] });
    expect(workspace('default')).toBe(before);
  });

  it('are replaced when this build ships a newer version, their config kept [BUILT-013]', async () => {
    const config = { default_branch: 'main', node_type_pins: { 'svc:Page': '5-0' } };
    await send({ type: 'PutWorkspaceConfig', name: 'functions', config });
    await send({ type: 'Age', name: 'functions' });
    expect(updates()).toEqual([
      { name: 'functions', currentVersion: 0, shippedVersion: expect.any(Number), isChanged: false },
    ]);
    expect(await install()).toEqual({ installed: ['functions'], skipped: [] });
    expect(workspace('functions').description).not.toBe('older');
    expect(workspace('functions').config).toEqual(config);
    expect(updates()).toEqual([]);
  });

  it('remain as a user changed them, unless the update is forced [BUILT-015]', async () => {
    await send({ type: 'PutWorkspace', name: 'default', definition: { ...anything, description: 'mine' } });
    expect(updates()).toEqual([]);
    await send({ type: 'Age', name: 'default' });
    expect(updates()).toMatchObject([{ name: 'default', isChanged: true }]);
    expect(await install()).toEqual({ installed: [], skipped: ['default'] });
    expect(workspace('default').description).toBe('older');
    expect(await install({ names: ['functions'], force: true })).toEqual({ installed: [], skipped: [] });
    expect(await install({ names: ['default'], force: true })).toEqual({
      installed: ['default'],
      skipped: [],
    });
    expect(workspace('default').allowed_node_types).toContain('svc:Page');
    expect(updates()).toEqual([]);
  });
});

describe('access', () => {
  it('is for administrators of the tenant; names are found by the engine only', async () => {
    for (const [caller, code] of [
      [callers.anonymous, 'UNAUTHORIZED'],
      [callers.otherTenant, 'FORBIDDEN'],
    ] as const) {
      const put = { type: 'PutWorkspace', name: 'w', definition: anything };
      await expect(send(put, caller)).rejects.toMatchObject({ code });
      for (const query of [
        { type: 'ReadRepository' },
        { type: 'ListWorkspaces' },
        { type: 'ReadWorkspace', name: 'default' },
        { type: 'ListBuiltInUpdates' },
      ]) {
        expect(() => ask(query, caller)).toThrow(expect.objectContaining({ code }));
      }
    }
    for (const query of [
      { type: 'FindBranch', name: 'main' },
      { type: 'ReadSettings', workspace: 'default' },
    ]) {
      expect(() => ask(query, callers.admin)).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
    }
    expect(ask({ type: 'ReadWorkspace', name: 'w' })).toBeUndefined();
  });
});
