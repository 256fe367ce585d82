import type {
  AddRelation,
  BranchCommand,
  BranchQuery,
  ChangeLocale,
  CommitOperations,
  CopyNode,
  DeleteNode,
  ListTranslations,
  NodeWritten,
  OperationsCommitted,
  ReadAudit,
  ReadRelations,
  ReadStaleness,
  RelationRemoved,
  RemoveRelation,
  ReorderNode,
  Translated,
  VersionCreated,
  Written,
} from '#actors/branch/messages.ts';
import type { ListIncomingReferences, NodePlace } from '#actors/branch/read-messages.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import { INCOMING_SINCE } from '#runtime/actor/message-version.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parsePath } from '#runtime/content/path.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import {
  askBranch,
  methodNotAllowed,
  replyOf,
  revisionHeaders,
  sendCommand,
} from '../access/branch-access.ts';
import { commandCommit, isExplicit } from '../commit-info.ts';
import { AUDIT_LIMIT_MAX } from './command-schemas.ts';
import { parseCommitOperations } from './commit-operations.ts';
import { conditionOf } from './conditions.ts';
import { bodyLock } from '../lock-precondition.ts';
import { commandShapes } from './node-shapes.ts';
import { isOfNode, type NodeTarget, placeOf } from './node-target.ts';
import { clampedInteger, historyParameters, listParameters, pageOf } from '../reads/read-parameters.ts';
import { callerOf } from '../rest-context.ts';
import type { Soon } from '#runtime/base/event-loop/soon.ts';
import { refuseParametersBut } from '../reads/refused-parameters.ts';

/** The fields common to all messages about a command's node. */
interface Subject {
  readonly workspace: string;
  readonly place: NodePlace;
  readonly commit?: CommitInfo;
}

/** One execution of a command. */
interface CommandRun {
  readonly target: NodeTarget;
  readonly fields: BodyFields;
  readonly subject: Subject;
}

type Command = (run: CommandRun) => Soon<HttpReply>;

/** By name. @see docs/interface/nodes.md#commands */
const commands: Readonly<Record<string, Command>> = {
  rename: (run) =>
    relocate(run, { ...run.subject, type: 'RenameNode', newName: run.fields.string('newName') }),
  move: (run) =>
    relocate(run, { ...run.subject, type: 'MoveNode', targetPath: pathField(run, 'targetPath') }),
  copy: (run) => copy(run, false),
  copy_tree: (run) => copy(run, true),
  reorder,
  publish: (run) => publish(run, true, false),
  publish_tree: (run) => publish(run, true, true),
  unpublish: (run) => publish(run, false, false),
  unpublish_tree: (run) => publish(run, false, true),
  create_version: createVersion,
  restore_version: restoreVersion,
  delete_version: refuseVersionChange,
  update_version_note: refuseVersionChange,
  'add-relation': addRelation,
  'remove-relation': removeRelation,
  relations: (run) => readRelations(run.target),
  translate,
  'delete-translation': (run) => changeLocale(run, 'delete-translation'),
  'hide-in-locale': (run) => changeLocale(run, 'hide'),
  'unhide-in-locale': (run) => changeLocale(run, 'unhide'),
  'list-translations': (run) => listTranslations(run.target),
  'translation-staleness': readStaleness,
  'acknowledge-staleness': acknowledgeStaleness,
  audit_log: readAudit,
  commit: (run) => commitOperations(run),
  save: (run) => commitOperations(run, 1),
  create: (run) => commitOperations(run, 1),
  delete: deleteByCommit,
};

/** Read-only commands: those of {@link commands} that GET also serves, and those that only GET serves. */
const readCommands: Readonly<Record<string, (target: NodeTarget, at?: Revision) => Soon<HttpReply>>> = {
  relations: readRelations,
  'list-translations': listTranslations,
  'incoming-references': listIncomingReferences,
};

/** Names of the commands that POST serves. */
export const commandNames: readonly string[] = Object.keys(commands);

/** Names of the commands that GET serves. */
export const readCommandNames: readonly string[] = Object.keys(readCommands);

/** Some names contain `-`, some `_`; both are accepted for all names. */
function spelling(name: string): string {
  return name.replaceAll('-', '_');
}

function byName<T>(table: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(table).map(([name, entry]) => [spelling(name), entry]));
}

const commandByName = byName(commands);
const shapeByName = byName(commandShapes);
const readCommandByName = byName(readCommands);

function unknownCommand(name: string): ServiceError {
  return new ServiceError('COMMAND_NOT_IMPLEMENTED', `There is no command '${name.slice(0, 80)}'`);
}

/**
 * Runs a command posted to a node. An empty body means `{}`.
 *
 * @param name from `svc:cmd/{name}`, `svc:{name}` or `?command=`
 * @throws {ServiceError} `COMMAND_NOT_IMPLEMENTED`; `METHOD_NOT_ALLOWED` for a command that only GET serves
 * @see docs/interface/nodes.md#commands
 */
export function runCommand(target: NodeTarget, name: string): Soon<HttpReply> {
  const command = commandByName.get(spelling(name));
  if (command === undefined) {
    if (!readCommandByName.has(spelling(name))) throw unknownCommand(name);
    throw methodNotAllowed('GET', `'${name}' is read with GET`);
  }
  requireNoProperty(target, name);
  refuseOthers(target, name, command === readAudit ? ['limit'] : []);
  const fields = bodyFields(target.request.body ?? {});
  shapeByName.get(spelling(name))?.refuseUnknown(fields.raw);
  const commit = commandCommit(fields);
  const subject: Subject = {
    workspace: target.workspace,
    place: placeOf(target.address),
    ...(commit === undefined ? {} : { commit }),
  };
  return command({ target, fields, subject });
}

/**
 * Serves the GET of a read-only command.
 *
 * @throws {ServiceError} `COMMAND_NOT_IMPLEMENTED`; `METHOD_NOT_ALLOWED` for a command that writes
 */
export function readCommand(target: NodeTarget, name: string, at: Revision | undefined): Soon<HttpReply> {
  const command = readCommandByName.get(spelling(name));
  if (command === undefined) {
    if (!commandByName.has(spelling(name))) throw unknownCommand(name);
    throw methodNotAllowed('POST', `The command '${name}' is posted`);
  }
  requireNoProperty(target, name);
  refuseOthers(target, name, command === listIncomingReferences ? listParameters : historyParameters);
  return command(target, at);
}

/** Refuses parameters that a command does not use, and `?command=` when the address names a command. */
function refuseOthers({ address, request }: NodeTarget, name: string, taken: readonly string[]): void {
  if (request.queryString === '') return;
  if (isOfNode(address)) refuseParametersBut(request, `the command '${name}'`, ['command', ...taken]);
  else if (address.command === null) refuseParametersBut(request, 'a manual version', []);
  else refuseParametersBut(request, `the command '${name}'`, taken);
}

function requireNoProperty({ address }: NodeTarget, name: string): void {
  if (address.property !== null) throw invalid(`The command '${name}' is for a node, not for a property`);
}

function send<Result>({ fields, target }: CommandRun, command: BranchCommand): Promise<Result> {
  // `version` of `restore_version` selects the version to restore and is no precondition.
  const condition = conditionOf(target.request, command.type === 'RestoreVersion' ? undefined : fields);
  const guarded = { ...command, ...condition, ...bodyLock(fields) };
  return sendCommand<Result>(target.context, target.request, target.branch, guarded);
}

function ask({ context, request, branch }: NodeTarget, query: BranchQuery, at?: Revision): Soon<HttpReply> {
  return askBranch<unknown>(context, request, branch, query, callerOf(request), replyOf, at);
}

function pathField({ fields }: CommandRun, name: string): string {
  return parsePath(fields.string(name), name);
}

/** `{}`, or the commit if the caller gave message and actor. */
function writtenReply(written: Written, commit: CommitInfo | undefined): HttpReply {
  const json = isExplicit(commit) ? { revision: written.revision, committed: true } : {};
  return { status: 200, headers: revisionHeaders(written), json };
}

async function relocate(run: CommandRun, command: BranchCommand): Promise<HttpReply> {
  return writtenReply(await send<Written>(run, command), run.subject.commit);
}

async function copy(run: CommandRun, tree: boolean): Promise<HttpReply> {
  const { fields, subject } = run;
  const newName = fields.optionalString('newName');
  const command: CopyNode = {
    ...subject,
    type: 'CopyNode',
    tree,
    targetPath: pathField(run, 'targetPath'),
    ...(newName === undefined ? {} : { newName }),
  };
  const written = await send<NodeWritten>(run, command);
  return isExplicit(subject.commit) ? writtenReply(written, subject.commit) : nodeReply(written);
}

function nodeReply(written: NodeWritten): HttpReply {
  return { status: 200, headers: revisionHeaders(written), raw: written.node };
}

async function reorder(run: CommandRun): Promise<HttpReply> {
  const command: ReorderNode = {
    ...run.subject,
    type: 'ReorderNode',
    targetPath: pathField(run, 'targetPath'),
    position: run.fields.optionalOneOf('movePosition', ['before', 'after']) ?? 'after',
  };
  const written = await send<Written>(run, command);
  return { status: 200, headers: revisionHeaders(written), json: {} };
}

async function publish(run: CommandRun, isPublish: boolean, tree: boolean): Promise<HttpReply> {
  const written = await send<Written>(run, {
    ...run.subject,
    type: 'PublishNode',
    publish: isPublish,
    tree,
  });
  return { status: 200, headers: revisionHeaders(written), json: {} };
}

async function createVersion(run: CommandRun): Promise<HttpReply> {
  const note = run.fields.optionalString('note');
  const written = await send<VersionCreated>(run, {
    ...run.subject,
    type: 'CreateVersion',
    ...(note === undefined ? {} : { note }),
  });
  return { status: 200, headers: revisionHeaders(written), json: { version: written.version } };
}

async function restoreVersion(run: CommandRun): Promise<HttpReply> {
  const version = run.fields.integer('version');
  return nodeReply(await send<NodeWritten>(run, { ...run.subject, type: 'RestoreVersion', version }));
}

function refuseVersionChange(): never {
  throw invalid('Versions are immutable: they are neither deleted nor changed');
}

async function addRelation(run: CommandRun): Promise<HttpReply> {
  const { fields, subject } = run;
  const command: AddRelation = {
    ...subject,
    type: 'AddRelation',
    targetWorkspace: fields.string('targetWorkspace'),
    targetPath: pathField(run, 'targetPath'),
    relationType: fields.optionalString('relationType') ?? 'references',
    weight: fields.optionalNumber('weight') ?? null,
  };
  const written = await send<Written>(run, command);
  return { status: 200, headers: revisionHeaders(written), json: {} };
}

async function removeRelation(run: CommandRun): Promise<HttpReply> {
  const { fields, subject } = run;
  const relationType = fields.optionalString('relationType');
  const command: RemoveRelation = {
    ...subject,
    type: 'RemoveRelation',
    targetWorkspace: fields.string('targetWorkspace'),
    targetPath: pathField(run, 'targetPath'),
    ...(relationType === undefined ? {} : { relationType }),
  };
  const written = await send<RelationRemoved>(run, command);
  return { status: 200, headers: revisionHeaders(written), json: { removed: written.removed } };
}

function readRelations(target: NodeTarget, at?: Revision): Soon<HttpReply> {
  const query: ReadRelations = {
    type: 'ReadRelations',
    workspace: target.workspace,
    place: placeOf(target.address),
    ...(at === undefined ? {} : { at }),
  };
  return ask(target, query, at);
}

function listIncomingReferences(target: NodeTarget, at?: Revision): Soon<HttpReply> {
  const query: ListIncomingReferences = {
    type: 'ListIncomingReferences',
    workspace: target.workspace,
    place: placeOf(target.address),
    scope: target.branch.actor,
    since: INCOMING_SINCE,
    ...pageOf(target.request.query),
    ...(at === undefined ? {} : { at }),
  };
  return ask(target, query, at);
}

async function translate(run: CommandRun): Promise<HttpReply> {
  const written = await send<Translated>(run, {
    ...run.subject,
    type: 'TranslateNode',
    locale: run.fields.string('locale'),
    translations: run.fields.object('translations') as JsonObject,
  });
  return translatedReply(written);
}

async function changeLocale(run: CommandRun, change: ChangeLocale['change']): Promise<HttpReply> {
  const locale = run.fields.string('locale');
  const written = await send<Translated>(run, { ...run.subject, type: 'ChangeLocale', locale, change });
  return change === 'hide' ? translatedReply(written) : { status: 204, headers: revisionHeaders(written) };
}

function translatedReply(written: Translated): HttpReply {
  const { node_id, locale, revision, timestamp } = written;
  return {
    status: 200,
    headers: revisionHeaders(written),
    json: { node_id, locale, revision, timestamp },
  };
}

function listTranslations(target: NodeTarget, at?: Revision): Soon<HttpReply> {
  const query: ListTranslations = {
    type: 'ListTranslations',
    workspace: target.workspace,
    place: placeOf(target.address),
    ...(at === undefined ? {} : { at }),
  };
  return ask(target, query, at);
}

function readStaleness({ target, fields }: CommandRun): Soon<HttpReply> {
  const query: ReadStaleness = {
    type: 'ReadStaleness',
    workspace: target.workspace,
    place: placeOf(target.address),
    locale: fields.string('locale'),
  };
  return ask(target, query);
}

async function acknowledgeStaleness(run: CommandRun): Promise<HttpReply> {
  const locale = run.fields.string('locale');
  const pointer = run.fields.string('pointer');
  const written = await send<Written>(run, {
    ...run.subject,
    type: 'AcknowledgeStaleness',
    locale,
    pointer,
  });
  return { status: 200, headers: revisionHeaders(written), json: { acknowledged: true, pointer, locale } };
}

function readAudit({ target }: CommandRun): Soon<HttpReply> {
  const limit = clampedInteger(target.request.query, 'limit', { min: 1, max: AUDIT_LIMIT_MAX });
  const query: ReadAudit = {
    type: 'ReadAudit',
    workspace: target.workspace,
    place: placeOf(target.address),
    limit: limit ?? AUDIT_LIMIT_MAX,
  };
  return ask(target, query);
}

/** Operations may address any place of the workspace; a create without a place goes under the addressed node. */
async function commitOperations(run: CommandRun, only?: number): Promise<HttpReply> {
  const { target, fields } = run;
  const command: CommitOperations = {
    type: 'CommitOperations',
    workspace: target.workspace,
    place: placeOf(target.address),
    ...parseCommitOperations(fields, target.address.path ?? '/', only),
  };
  return operationsReply(await send<OperationsCommitted>(run, command));
}

/** `delete` is a commit of one deletion, of the addressed node. */
async function deleteByCommit(run: CommandRun): Promise<HttpReply> {
  const { fields, subject } = run;
  const command: DeleteNode = {
    ...subject,
    type: 'DeleteNode',
    commit: { ...subject.commit, message: fields.string('message') },
  };
  const { revision } = await send<Written>(run, command);
  return operationsReply({ revision, operations_count: 1 });
}

function operationsReply({ revision, operations_count }: OperationsCommitted): HttpReply {
  return { status: 200, headers: revisionHeaders({ revision }), json: { revision, operations_count } };
}
