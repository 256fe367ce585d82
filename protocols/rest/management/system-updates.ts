import type { BuiltIns, InstallBuiltIns, ReadBuiltIns, Written } from '#actors/branch/messages.ts';
import type {
  BuiltInsInstalled,
  BuiltInUpdate,
  InstallBuiltInWorkspaces,
  ListBuiltInUpdates,
  RestoreBuiltInWorkspaces,
} from '#actors/repository/messages.ts';
import { RESTORED_TYPES_SINCE } from '#runtime/actor/message-version.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { repositoryOf } from '../access/branch-access.ts';
import type { FoundRepository } from '../access/found-branch.ts';
import { readRepositoryState } from './repository-info.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** A built-in resource that is newer than the repository's copy. */
interface PendingUpdate {
  /** `workspace:{name}` or `branch:{name}`: its name in `resources`. */
  readonly resource: string;
  readonly resource_type: 'workspace' | 'branch';
  readonly name: string;
  /** Null when the repository lacks it, and for branches, whose types have versions of their own. */
  readonly current_version: number | null;
  readonly new_version: number | null;
  /** Whether installing it overwrites a user's change; it is then skipped unless `force` is set. */
  readonly is_breaking: boolean;
  /** Built-in types of a branch that are deleted or incomplete; `force` restores them as shipped. */
  readonly changed_types?: readonly string[];
}

/** A pending update, and whether a newer version is shipped; if not, `force` only overwrites a user's change. */
interface FoundUpdate {
  readonly update: PendingUpdate;
  readonly isNewer: boolean;
}

const tag = 'System updates';

const updateSchema = {
  type: 'object',
  properties: {
    resource: { type: 'string' },
    resource_type: { type: 'string', enum: ['workspace', 'branch'] },
    name: { type: 'string' },
    current_version: { type: ['integer', 'null'] },
    new_version: { type: ['integer', 'null'] },
    is_breaking: {
      type: 'boolean',
      description: 'Installing it replaces what somebody changed, so that is left out unless `force` is set.',
    },
    changed_types: {
      type: 'array',
      items: { type: 'string' },
      description: 'Of a branch: built-in types that are gone, or lack something of what is shipped.',
    },
  },
} as const;

/**
 * Built-in workspaces and types that are newer than those of a repository. They are installed automatically when a
 * repository is first used; the remaining ones have been changed by users.
 *
 * @see docs/interface/repositories.md#updates-of-built-in-resources
 */
export function systemUpdateRoutes(context: RestContext): readonly RestRoute[] {
  return [listRoute(context), applyRoute(context)];
}

async function pendingUpdates(
  context: RestContext,
  request: RestRequest,
  repository: FoundRepository,
): Promise<FoundUpdate[]> {
  const caller = callerOf(request);
  const ask = (actor: string, query: unknown) => context.router.query(actor, query, caller);
  const list: ListBuiltInUpdates = { type: 'ListBuiltInUpdates' };
  const workspaces = (await ask(repository.actor, list)) as readonly BuiltInUpdate[];
  const updates = workspaces.map(
    ({ name, currentVersion, shippedVersion, isChanged }): FoundUpdate => ({
      update: {
        resource: `workspace:${name}`,
        resource_type: 'workspace',
        name,
        current_version: currentVersion,
        new_version: shippedVersion,
        is_breaking: isChanged,
      },
      isNewer: true,
    }),
  );
  const { branches } = await readRepositoryState(context, request, repository);
  for (const name of branches) {
    const { actor } = await context.directory.branchOf(repository, name, 'read', caller.consistency);
    const query: ReadBuiltIns = { type: 'ReadBuiltIns' };
    const { changedTypes, isPending } = (await ask(actor, query)) as BuiltIns;
    if (!isPending && changedTypes.length === 0) continue;
    updates.push({
      update: {
        resource: `branch:${name}`,
        resource_type: 'branch',
        name,
        current_version: null,
        new_version: null,
        is_breaking: changedTypes.length > 0,
        changed_types: changedTypes,
      },
      isNewer: isPending,
    });
  }
  return updates;
}

function listRoute(context: RestContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/repositories/{tenant}/{repo}/system-updates',
    operationId: 'listSystemUpdates',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Built-ins that are newer than those of the repository',
      tag,
      responses: {
        200: {
          description: 'What is pending.',
          schema: {
            type: 'object',
            properties: {
              has_updates: { type: 'boolean' },
              total_pending: { type: 'integer' },
              breaking_count: { type: 'integer' },
              updates: { type: 'array', items: updateSchema },
            },
          },
        },
        404: { description: 'There is no such repository.' },
      },
    },
    async handler(request) {
      const found = await pendingUpdates(context, request, await repositoryOf(context, request));
      const updates = found.map(({ update }) => update);
      return {
        status: 200,
        json: {
          has_updates: updates.length > 0,
          total_pending: updates.length,
          breaking_count: updates.filter((update) => update.is_breaking).length,
          updates,
        },
      };
    },
  };
}

function applyRoute(context: RestContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/management/repositories/{tenant}/{repo}/system-updates/apply',
    operationId: 'applySystemUpdates',
    body: 'optional-json',
    auth: 'required',
    docs: {
      summary: 'Install pending built-ins',
      description:
        'The updates are installed when the answer is sent, so `job_id` is null. Without `resources` all pending updates are installed. Definitions that were changed in the repository are skipped unless `force` is set. With `force`, deleted or incomplete built-in types are restored as shipped, and additions to them are lost. A built-in workspace that is named in `resources` is restored with `force` even if no update of it is pending.',
      tag,
      requestSchema: {
        type: 'object',
        properties: {
          resources: { type: 'array', items: { type: 'string', examples: ['workspace:default'] } },
          force: { type: 'boolean', default: false },
        },
        additionalProperties: false,
      },
      responses: {
        200: {
          description: 'What was done.',
          schema: {
            type: 'object',
            properties: {
              job_id: { type: ['string', 'null'] },
              message: { type: 'string' },
              applied_count: { type: 'integer' },
              skipped_count: { type: 'integer' },
            },
          },
        },
        404: { description: 'There is no such repository.' },
      },
    },
    async handler(request) {
      const { applied, skipped } = await applyUpdates(context, request);
      return {
        status: 200,
        json: {
          job_id: null,
          message: applied === 0 ? 'Nothing was pending' : `Installed ${applied} updates`,
          applied_count: applied,
          skipped_count: skipped,
        },
      };
    },
  };
}

async function applyUpdates(
  context: RestContext,
  request: RestRequest,
): Promise<{ readonly applied: number; readonly skipped: number }> {
  const fields = bodyFields(request.body ?? {});
  const chosen = fields.optionalStrings('resources');
  const force = fields.optionalBoolean('force') ?? false;
  const repository = await repositoryOf(context, request);
  const pending = await pendingUpdates(context, request, repository);
  const wanted = pending.filter(({ update }) => chosen === undefined || chosen.includes(update.resource));
  const delivery = deliveryOf(request);
  const pendingNames = wanted.flatMap(({ update }) =>
    update.resource_type === 'workspace' ? [update.name] : [],
  );
  const { installed, skipped } = (await context.router.command(
    repository.actor,
    workspacesCommand(workspacesIn(chosen ?? []), pendingNames, force),
    delivery,
  )) as BuiltInsInstalled;
  let applied = installed.length;
  let left = skipped.length;
  for (const { isNewer, update } of wanted) {
    if (update.resource_type !== 'branch') continue;
    if (update.is_breaking && !force) left += 1;
    if (!isNewer && !force) continue;
    const { actor } = await context.directory.branchOf(repository, update.name, 'write');
    const { revision } = (await context.router.command(actor, installCommand(force), delivery)) as Written;
    if (revision !== null) applied += 1;
  }
  return { applied, skipped: left };
}

/** The workspaces named in `resources`, whether an update of them is pending or not. */
function workspacesIn(resources: readonly string[]): readonly string[] {
  const prefix = 'workspace:';
  return resources.flatMap((each) => (each.startsWith(prefix) ? [each.slice(prefix.length)] : []));
}

/**
 * The command that updates the workspaces of a repository. Members of earlier versions refuse the one that restores, so
 * it is sent only where something is to be restored.
 *
 * @param named workspaces named in `resources`
 * @param pending those of them, or of all, that have an update
 */
export function workspacesCommand(
  named: readonly string[],
  pending: readonly string[],
  force: boolean,
): InstallBuiltInWorkspaces | RestoreBuiltInWorkspaces {
  return force && named.length > 0
    ? { type: 'RestoreBuiltInWorkspaces', names: named }
    : { type: 'InstallBuiltInWorkspaces', names: pending, force };
}

/** The command that updates a branch. @param force whether shipped types are restored, too */
export function installCommand(force: boolean): InstallBuiltIns {
  return { type: 'InstallBuiltIns', ...(force ? { force, since: RESTORED_TYPES_SINCE } : {}) };
}
