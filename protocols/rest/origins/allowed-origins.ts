import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import type { ReadProperty } from '#actors/branch/read-messages.ts';
import type { ReadConfiguration } from '#actors/identities/messages.ts';
import type { CorsPolicy, CorsTarget } from '#protocols/http/replies/cors.ts';
import { decodeSegment } from '#protocols/http/requests/percent-decode.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { checkOriginOrAny } from '#runtime/config/text-checks.ts';
import { requireRepositoryName, requireTenantName } from '#runtime/content/names.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RepositoryDirectory } from '../access/repository-directory.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';
import { BoundedEntries } from '#runtime/base/queues/bounded-entries.ts';

/** How long origins are kept after they were looked up, in milliseconds. @see docs/interface/conventions.md#pages-from-other-origins */
const KEPT_MS = 60_000;

/** How long nothing is looked up after a failure, in milliseconds. */
const FAILED_MS = 5_000;

/** Most tenants and repositories with origins that are remembered. */
const LISTS_MAX = 1_000;

/**
 * Most names without origins that are remembered. They are apart, because anybody can ask about names that do not
 * exist, and would displace the others.
 */
const EMPTY_MAX = 4_000;

/** Most origins of a repository that count. */
const ORIGINS_MAX = 1_000;

/** Workspace and folder of the settings of repositories. */
const WORKSPACE = 'svc:system';
const FOLDER = '/config/repos';

/** Codes that say that there is no setting. */
const missing: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'REPOSITORY_NOT_FOUND',
  'BRANCH_NOT_FOUND',
  'READ_ONLY_REVISION',
  'WORKSPACE_NOT_FOUND',
  'NODE_NOT_FOUND',
]);

/** Dependencies of {@link AllowedOrigins}. */
export interface AllowedOriginsContext {
  readonly router: Pick<Router, 'query'>;
  readonly directory: Pick<RepositoryDirectory, 'besideContent'>;
  readonly clock: Clock;
  /** Origins that may call everything. */
  readonly serverOrigins: readonly string[];
}

/**
 * The origins whose pages may call an address: those of its repository, where it has a list; otherwise those of the
 * tenant and of the server. A repository that does not exist is answered like one without a list.
 *
 * What was looked up counts for a minute at each member, so a request waits at most once a minute for each list.
 *
 * @see docs/interface/conventions.md#pages-from-other-origins
 * @see docs/decisions/0074-people.md
 */
export class AllowedOrigins {
  readonly #context: AllowedOriginsContext;
  readonly #lists = new BoundedEntries<readonly string[]>(LISTS_MAX);
  readonly #empty = new BoundedEntries<readonly string[]>(EMPTY_MAX);
  /** Look-ups under way; as many as there are requests that wait for them, at most. */
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(context: AllowedOriginsContext) {
    this.#context = context;
  }

  /** The policy of the HTTP server. Never fails: without an answer the origins of the server count. */
  readonly policy: CorsPolicy = (_origin, target) => {
    const tenant = tenantOf(target);
    if (tenant === undefined) return this.#context.serverOrigins;
    const repository = repositoryOf(target);
    if (repository === undefined) return this.#ofTenant(tenant);
    const own = this.#kept(`${tenant}/${repository}`, () => this.#readRepository(tenant, repository));
    return afterwards(own, (origins) => (origins.length > 0 ? origins : this.#ofTenant(tenant)));
  };

  /** Number of lists that are remembered. */
  get size(): number {
    return this.#lists.size + this.#empty.size;
  }

  #ofTenant(tenant: string): Soon<readonly string[]> {
    const { serverOrigins } = this.#context;
    return afterwards(
      this.#kept(tenant, () => this.#readTenant(tenant)),
      (origins) => {
        if (origins.length === 0) return serverOrigins;
        return serverOrigins.length === 0 ? origins : [...origins, ...serverOrigins];
      },
    );
  }

  #kept(key: string, read: () => Promise<readonly string[]>): Soon<readonly string[]> {
    const nowMs = this.#context.clock.monotonicMs();
    const known = this.#lists.get(key, nowMs) ?? this.#empty.get(key, nowMs);
    if (known !== undefined) return known;
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const started = this.#lookUp(key, read).finally(() => this.#pending.delete(key));
    this.#pending.set(key, started);
    return started;
  }

  /** Never rejects. */
  async #lookUp(key: string, read: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const { clock } = this.#context;
    try {
      const origins = await read();
      const entries = origins.length > 0 ? this.#lists : this.#empty;
      entries.set(key, origins, clock.monotonicMs() + KEPT_MS);
      return origins;
    } catch (error) {
      const isMissing = error instanceof ServiceError && missing.has(error.code);
      this.#empty.set(key, none, clock.monotonicMs() + (isMissing ? KEPT_MS : FAILED_MS));
      return none;
    }
  }

  async #readTenant(tenant: string): Promise<readonly string[]> {
    const { router } = this.#context;
    const query = { type: 'ReadAuthentication' };
    const read = await router.query(actorId(tenant, 'identities'), query, engineCaller(tenant));
    return (read as ReadConfiguration).configuration.cors_allowed_origins;
  }

  async #readRepository(tenant: string, repository: string): Promise<readonly string[]> {
    const { directory, router } = this.#context;
    // Nothing is installed for it, because anybody may ask.
    const { actor } = await directory.besideContent(tenant, repository, DECIDING_BRANCH);
    const query: ReadProperty = {
      type: 'ReadProperty',
      workspace: WORKSPACE,
      place: { path: `${FOLDER}/${repository}` },
      property: ['cors_allowed_origins'],
    };
    const read = (await router.query(actor, query, engineCaller(tenant))) as { readonly value: JsonValue };
    return originsIn(read.value);
  }
}

const none: readonly string[] = Object.freeze([]);

/** The tenant of a request, before its token is verified; undefined for a name that no tenant has. */
function tenantOf({ header, param }: CorsTarget): string | undefined {
  return nameOf(() => param('tenant') ?? header('x-tenant-id') ?? SYSTEM_TENANT, requireTenantName);
}

/** The repository of an address; undefined for a name that none has. */
function repositoryOf({ param }: CorsTarget): string | undefined {
  return nameOf(() => param('repo'), requireRepositoryName);
}

function nameOf(raw: () => string | undefined, check: (name: string) => string): string | undefined {
  const text = raw();
  if (text === undefined) return undefined;
  try {
    return check(decodeSegment(text));
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** The origins of a list in a node, which may hold anything. */
function originsIn(value: JsonValue): readonly string[] {
  if (!Array.isArray(value)) return none;
  return value.slice(0, ORIGINS_MAX).flatMap((entry: JsonValue) => {
    try {
      return typeof entry === 'string' ? [checkOriginOrAny(entry)] : [];
    } catch {
      // No page has such an origin.
      return [];
    }
  });
}
