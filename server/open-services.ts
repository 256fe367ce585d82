import { AdminAccess } from '#protocols/admin/admin-access.ts';
import { mailAllowance, oidcAllowance, operatorMailAllowance } from '#protocols/egress/allowance.ts';
import { EgressGuard } from '#protocols/egress/egress-guard.ts';
import { GuardedDialer } from '#protocols/egress/guarded-dial.ts';
import { AnonymousAccess } from '#protocols/identity/anonymous-access.ts';
import { EmailSetups } from '#protocols/identity/email-setups.ts';
import { IdentityCallers } from '#protocols/identity/identity-callers.ts';
import { resealedSecrets } from '#protocols/identity/resealed-secrets.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { WaitingCallers } from '#protocols/rest/access/waiting-callers.ts';
import type { BulkStatements } from '#protocols/rest/sql/ports.ts';
import type { AccountNews } from '#runtime/access/account-news.ts';
import { AdminTokens } from '#runtime/access/admin-tokens.ts';
import { IdentityNewsroom } from '#runtime/access/identity/identity-news.ts';
import { IdentityTokens } from '#runtime/access/identity/identity-tokens.ts';
import { withReplacedSecrets } from '#runtime/access/identity/stored-secrets.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { RoutedCopies } from '#runtime/actor/copies/routed-copies.ts';
import type { ActorLifecycle } from '#runtime/actor/ports.ts';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import { MemberBackups } from '#server/backup/member-backups.ts';
import { MemberChecks } from '#server/check/member-checks.ts';
import { ScheduledChecks } from '#server/check/scheduled-checks.ts';
import type { MemberEngine } from '#server/engine/engine.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { backupFolder } from '#server/host/backup-folder.ts';
import { memberConsumers } from '#server/feed/own-consumers.ts';
import { MemberFeeds } from '#server/feed/member-feeds.ts';
import { BulkSql } from '#server/jobs/bulk-sql.ts';
import { MasterKeyRotation } from '#server/jobs/master-key-rotation.ts';
import { MemberJobs } from '#server/jobs/member-jobs.ts';
import { RestoreTree } from '#server/jobs/restore-tree.ts';
import { StatementCallers } from '#server/jobs/statement-callers.ts';
import { SubmittedStatements } from '#server/jobs/submitted-statements.ts';
import { UserStatusChanges } from '#server/jobs/user-status-changes.ts';
import { MemberMail } from '#server/mail/member-mail.ts';
import { MemberLocks } from '#server/provisioning/branch-locks.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { UnknownRemovals } from '#server/provisioning/unknown-removals.ts';
import type { Closers, MemberEnvironment } from './member.ts';
import type { MemberResources } from './open-resources.ts';

/** Services that use the actors of an engine for the routes. */
export interface MemberServices {
  readonly upgrades: LazyUpgrades;
  readonly statusChanges: UserStatusChanges;
  readonly keyRotation: MasterKeyRotation;
  readonly jobs: MemberJobs;
  /** Takes statements of SQL that are done in the background. */
  readonly bulk: BulkStatements;
  readonly feeds: MemberFeeds;
  readonly backups: MemberBackups;
  readonly checks: MemberChecks;
  readonly provisioning: MemberProvisioning;
  readonly branches: MemberBranches;
  readonly locks: MemberLocks;
  readonly waitingCallers: WaitingCallers;
  readonly hasher: PasswordHasher;
  readonly tokens: AdminTokens;
  readonly identities: MemberIdentities;
  readonly identityTokens: IdentityTokens;
  readonly identityNews: IdentityNewsroom;
  readonly callers: IdentityCallers;
  readonly anonymous: AnonymousAccess;
  readonly secretBox: SecretBox;
  readonly admins: AdminAccess;
  /** Sends the requests of logins at OpenID providers. */
  readonly oidcEgress: EgressGuard;
  readonly emailSetups: EmailSetups;
  readonly mail: MemberMail;
}

/** Creates the services of a member over its engine. {@link MemberJobs.start} starts taking jobs. */
export function openServices(
  environment: MemberEnvironment,
  resources: MemberResources,
  engine: MemberEngine,
  closers: Closers,
): MemberServices {
  const { clock, log, options, random } = environment;
  const { key, secrets, slices, space } = resources;
  const { router, unsettled } = engine;
  const previous = options.server.jwtSecretPrevious?.reveal();
  const tokens = new AdminTokens(secrets.jwtSecret.reveal(), clock, random, previous);
  const identityTokens = new IdentityTokens(secrets.jwtSecret.reveal(), clock, random, previous);
  const identityNews = new IdentityNewsroom(engine.identityNews);
  const admins = new AdminAccess({ router, clock, tokens, ...newsOf(engine) });
  const callers = new IdentityCallers({ router, tokens: identityTokens, news: identityNews, clock });
  const byDefault = options.server.anonymousEnabled;
  const anonymous = new AnonymousAccess({ router, news: identityNews, clock, byDefault });
  const statementCallers = new StatementCallers({ admins, identities: callers, anonymous });
  const waitingCallers = new WaitingCallers({ present: (principal) => statementCallers.present(principal) });
  admins.listen((tenant, userId) => waitingCallers.changed(tenant, userId));
  identityNews.listen((news) => {
    if (news.kind === 'identity') waitingCallers.changed(news.tenant, news.identityId);
  });
  const jobs = openJobs(environment, engine, resources.metrics, statementCallers);
  closers.add(() => jobs.drain(0));
  const feeds = new MemberFeeds({
    router,
    lifecycle: engine.lifecycle,
    clock,
    random,
    log,
    metrics: resources.metrics,
    consumers: memberConsumers(environment.feedConsumers),
    jobs,
  });
  closers.add(() => feeds.close());
  const { lifecycle } = feeds;
  const secretBox = openSecretBox(environment, resources);
  const backups = openBackups(environment, resources, engine, lifecycle, jobs.queue, secretBox);
  closers.add(() => backups.close());
  const checks = new MemberChecks({
    dataDir: options.server.dataDir,
    shards: engine.shards,
    slices,
    clock,
    random,
    log,
    space: space.at('member'),
    results: resources.checkResults,
  });
  closers.add(() => checks.close());
  const scheduled = new ScheduledChecks({
    checks,
    results: resources.checkResults,
    clock,
    log,
    intervalHours: options.limits.checkIntervalHours,
  });
  closers.add(() => scheduled.stop());
  const oidcEgress = new EgressGuard(oidcAllowance(options.egress), { clock, log });
  closers.add(() => oidcEgress.close());
  const requireNew = (actor: string): Promise<void> => engine.requireNew?.(actor) ?? Promise.resolve();
  const emailSetups = new EmailSetups(options, secretBox);
  const mail = openMail(environment, engine, emailSetups, resources.metrics);
  closers.add(() => mail.close());
  const unknownRemovals = new UnknownRemovals(router, clock, random);
  closers.add(() => unknownRemovals.close());
  const upgrades = new LazyUpgrades(router, clock, log);
  const directory = new RepositoryDirectory(router, upgrades, engine.nearby);
  const statusChanges = new UserStatusChanges({ router, directory, clock, random, log });
  closers.add(() => statusChanges.close());
  const { previousMasterKey, previousMasterKeySource } = secrets;
  const keyRotation = new MasterKeyRotation({
    router,
    box: secretBox,
    previousSource: previousMasterKey === undefined ? undefined : previousMasterKeySource,
    dropPrevious: () => key.dropPrevious(),
    shared: engine.sharedRotation,
    clock,
    random,
    log,
  });
  closers.add(() => keyRotation.close());
  return {
    upgrades,
    statusChanges,
    keyRotation,
    jobs,
    bulk: new SubmittedStatements({ queue: jobs.queue, clock, random }),
    feeds,
    backups,
    checks,
    provisioning: new MemberProvisioning(router, lifecycle, random, unsettled, requireNew),
    branches: new MemberBranches(router, lifecycle, random, jobs, unsettled, unknownRemovals),
    locks: new MemberLocks(router, lifecycle, options.locks.enabled),
    waitingCallers,
    hasher: new PasswordHasher(),
    tokens,
    admins,
    identities: new MemberIdentities(router, lifecycle),
    identityTokens,
    identityNews,
    callers,
    anonymous,
    secretBox,
    emailSetups,
    mail,
    oidcEgress,
  };
}

function newsOf({ accountNews }: MemberEngine): { readonly news?: AccountNews } {
  return accountNews === undefined ? {} : { news: accountNews };
}

function openJobs(
  { clock, jobHandlers, log, options, random }: MemberEnvironment,
  { lifecycle, router, tickets }: MemberEngine,
  metrics: Metrics,
  callers: StatementCallers,
): MemberJobs {
  const ofStatements = [
    new BulkSql({ router, callers, clock, random }),
    new RestoreTree({ router, callers }),
  ];
  return new MemberJobs({
    router,
    lifecycle,
    clock,
    random,
    log,
    metrics,
    workers: options.limits.jobWorkers,
    ...(tickets === undefined ? {} : { tickets }),
    handlers: [...ofStatements, ...(jobHandlers ?? [])],
  });
}

function openMail(
  { authorities, clock, log, options, random }: MemberEnvironment,
  { lifecycle, router }: MemberEngine,
  setups: EmailSetups,
  metrics: Metrics,
): MemberMail {
  return new MemberMail({
    router,
    lifecycle,
    setups,
    dialer: new GuardedDialer(mailAllowance(options.email), { clock }),
    operatorDialer: new GuardedDialer(operatorMailAllowance(), { clock }),
    authorities,
    clock,
    random,
    log,
    metrics,
  });
}

function openSecretBox({ random }: MemberEnvironment, { secrets }: MemberResources): SecretBox {
  return new SecretBox(secrets.masterKey.bytes(), { previous: secrets.previousMasterKey?.bytes(), random });
}

function openBackups(
  { clock, log, options, random, version }: MemberEnvironment,
  { files, secrets, space }: MemberResources,
  { copies, router, unsettled }: MemberEngine,
  lifecycle: ActorLifecycle,
  queue: Queue,
  box: SecretBox,
): MemberBackups {
  return new MemberBackups({
    router,
    lifecycle,
    unsettled,
    copies: copies ?? new RoutedCopies(router, clock),
    queue,
    kinds: actorKinds(options.limits),
    clock,
    random,
    files,
    log,
    folder: backupFolder(options.server),
    key: new BackupKey(secrets.masterKey.bytes(), secrets.previousMasterKey?.bytes()),
    configured: (tenant, configuration) =>
      withReplacedSecrets(configuration, resealedSecrets(box, tenant, configuration).replacements),
    backupSpace: space.at('backups'),
    space: space.at('member'),
    version,
  });
}
