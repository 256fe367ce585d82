import type { ConnectionLimits } from '#protocols/http/connection-gate.ts';
import type { ShareHolder } from '#protocols/http/in-flight-shares.ts';
import { createHttpServer, type HttpServer } from '#protocols/http/uws-server.ts';
import { IdentityLogins } from '#protocols/identity/identity-logins.ts';
import { sealClientSecret } from '#protocols/identity/oidc/client-secret.ts';
import { OidcLogins } from '#protocols/identity/oidc/oidc-logins.ts';
import { MagicLinks } from '#protocols/identity/magic-links.ts';
import { createAuthenticate } from '#protocols/rest/access/authenticate.ts';
import { OperatorAccess } from '#protocols/rest/access/operator-access.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import type { UserFailure } from '#protocols/rest/identity/identity-context.ts';
import { repositoryScope } from '#protocols/rest/identity/login-routes.ts';
import type { MemberStatus } from '#protocols/rest/management/system.ts';
import { AllowedOrigins } from '#protocols/rest/origins/allowed-origins.ts';
import { RepositoryMembers } from '#protocols/rest/people/repository-members.ts';
import { TenantPeople } from '#protocols/rest/people/tenant-people.ts';
import { hashLargeBody } from '#protocols/rest/rest-context.ts';
import { mailPasswordPurpose } from '#runtime/access/identity/email-settings.ts';
import { defaultLoginThrottle, LoginThrottle } from '#runtime/access/login-throttle.ts';
import { type Principal, principalKey } from '#runtime/access/principal.ts';
import type { Options } from '#runtime/config/options.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import type { MemberEngine } from '#server/engine/engine.ts';
import { requestObserver } from '#server/engine/observers.ts';
import { MemberRepositoryUsers } from '#server/provisioning/repository-users.ts';
import type { MemberEnvironment } from './member.ts';
import type { MemberResources } from './open-resources.ts';
import type { MemberServices } from './open-services.ts';
import { memberRoutes } from './routes.ts';

const MS_PER_MINUTE = 60_000;

/**
 * Maximum bytes of a request's path besides the path of a node: route, names of repository, branch and workspace,
 * revision, property, command, some of them percent-encoded.
 */
const ADDRESS_BYTES = 2_048;

/** Creates the HTTP server of a member with all its routes; it does not listen yet. */
export function openHttp(
  environment: MemberEnvironment,
  resources: MemberResources,
  engine: MemberEngine,
  services: MemberServices,
  status: () => MemberStatus,
): HttpServer {
  const { clock, log, options, random } = environment;
  const { localAccess, metrics, slices } = resources;
  const { router } = engine;
  const { limits, server } = options;
  const { emailSetups, identityTokens, oidcEgress, secretBox, upgrades, ...served } = services;
  const operators = new OperatorAccess(server.metricsToken);
  const directory = new RepositoryDirectory(router, upgrades, engine.nearby);
  const throttle = new LoginThrottle(clock, defaultLoginThrottle, engine.logins);
  const logins = new IdentityLogins({
    router,
    provisioning: services.identities,
    hasher: services.hasher,
    tokens: identityTokens,
    throttle,
    clock,
    random,
  });
  const origins = new AllowedOrigins({
    router,
    directory,
    clock,
    serverOrigins: server.corsAllowedOrigins,
  });
  const people = new TenantPeople(router);
  const users = new MemberRepositoryUsers(router, directory, people);
  const userNodes = {
    users,
    onUserFailure: (facts: UserFailure, error: unknown) =>
      log.warn('the node of a person in a repository could not be found or made; the login goes on', {
        ...facts,
        error,
      }),
  };
  const oidc = new OidcLogins({
    logins,
    egress: oidcEgress,
    box: secretBox,
    clock,
    random,
    baseUrl: server.baseUrl,
    serverOrigins: server.corsAllowedOrigins,
    scopeOf: (tenant, repository) => repositoryScope(userNodes, tenant, repository),
  });
  const routes = memberRoutes({
    ...served,
    router,
    directory,
    clock,
    random,
    slices,
    throttle,
    logins,
    oidc,
    ...userNodes,
    people,
    members: new RepositoryMembers(router, directory, users),
    sealClientSecret: (tenant, providerId, secret) => sealClientSecret(secretBox, tenant, providerId, secret),
    sealMailPassword: (tenant, provider, password) =>
      secretBox.seal(mailPasswordPurpose(tenant, provider), password),
    magicLinks: new MagicLinks({
      router,
      provisioning: services.identities,
      logins,
      setups: emailSetups,
    }),
    metrics,
    operators,
    localAccess,
    onPasswordReset: (account) => log.warn('password reset from this machine', { account }),
    status,
    cluster: {
      read: (signal) => engine.status.read(signal),
      takeSnapshots: (partition) => engine.status.takeSnapshots(partition),
    },
    version: environment.version,
  });
  const faults = metrics.counter(
    'svc_connections_failed_total',
    'Connections closed because their request failed where nobody could answer it.',
  );
  return createHttpServer<Principal>({
    routes,
    authenticate: createAuthenticate({
      admins: services.admins,
      identities: services.callers,
      others: operators,
      anonymousEnabled: (tenant) => services.anonymous.isEnabled(tenant),
    }),
    isAnonymous: (principal) => principal.kind === 'anonymous',
    clock,
    slices,
    prepareLargeBody: hashLargeBody,
    random,
    log: { error: (facts, message) => log.error(message, facts) },
    observe: requestObserver(metrics, log, routes),
    cors: origins.policy,
    limits: {
      bodyBytesMax: limits.bodyBytesMax,
      anonymousBodyBytesMax: limits.anonymousBodyBytesMax,
      jsonValuesMax: limits.jsonValuesMax,
      replyBytesTotalMax: limits.replyBytesTotalMax,
      writeStallMsMax: limits.replyStallMs,
      jsonDepthMax: limits.jsonDepthMax,
      pathBytesMax: limits.pathBytesMax + ADDRESS_BYTES,
      inFlightMax: limits.inFlightRequestsMax,
    },
    shareOf: shareHolders(),
    connections: connectionLimits(options),
    onConnectionRefused: refusedConnections(environment, metrics),
    onCallbackFault: () => faults.add(),
    trustForwardedHeaders: server.trustForwardedHeaders,
    onUntrustedForwarded: (peer) =>
      log.warn(
        'requests carry forwarded headers, and this server ignores them: behind a proxy all clients count as one address in the limits of logins and connections; set SVC_TRUST_FORWARDED_HEADERS=true if that proxy replaces X-Forwarded-For',
        { peer },
      ),
  });
}

/** Returns the limits of connections. Behind a proxy all clients have its address, so there is no limit by address. */
function connectionLimits({ limits, server }: Options): ConnectionLimits {
  const { connectionsMax, connectionsPerAddressMax } = limits;
  const perAddressMax = Math.max(1, Math.min(connectionsPerAddressMax, Math.floor(connectionsMax / 2)));
  return server.trustForwardedHeaders ? { connectionsMax } : { connectionsMax, perAddressMax };
}

/** Counts refused connections, and logs them once a minute. */
function refusedConnections({ clock, log }: MemberEnvironment, metrics: Metrics): () => void {
  const refused = metrics.counter(
    'svc_connections_refused_total',
    'Connections closed because there were too many.',
  );
  let reportedMs = Number.NEGATIVE_INFINITY;
  return () => {
    refused.add();
    if (clock.monotonicMs() - reportedMs < MS_PER_MINUTE) return;
    reportedMs = clock.monotonicMs();
    log.warn('connections refused: too many are open', { refused: refused.value });
  };
}

/** Returns the share holder of a principal. Logged-in users keep the same object, so its texts are made once. */
function shareHolders(): (principal: Principal) => ShareHolder {
  const known = new WeakMap<Principal, ShareHolder>();
  return (principal) => {
    let holder = known.get(principal);
    if (holder === undefined) {
      const { tenant } = principal;
      holder = { principal: `${tenant}\0${principalKey(principal)}`, tenant };
      known.set(principal, holder);
    }
    return holder;
  };
}
