import type {
  CreateNode,
  DeleteNode,
  NodeDeleted,
  NodeWritten,
  PatchNode,
  RemoveProperty,
  SetProperty,
  UpdateNode,
  Written,
} from '#actors/branch/messages.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply } from '#protocols/http/route.ts';
import { methodNotAllowed, revisionHeaders, sendCommand } from '../access/branch-access.ts';
import { optionalCommit } from '../commit-info.ts';
import { bodyLock } from '../lock-precondition.ts';
import { conditionOf, taggedHeaders } from './conditions.ts';
import { parseCreateBody, parsePatchBody, parseUpdateBody } from './node-bodies.ts';
import { runCommand } from './node-commands.ts';
import { type NodeTarget, placeOf, targetOf } from './node-target.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';
import { refuseParametersBut } from '../reads/refused-parameters.ts';

/** Allowed methods of the addresses that do not denote a node itself. */
const allowOf = { property: 'GET, HEAD, PUT, DELETE', versions: 'GET, HEAD', command: 'POST' } as const;

/** A POST: a command if the address or `?command=` names one, else a create under the address. */
export async function postNode(context: RestContext, request: RestRequest): Promise<HttpReply> {
  const target = await targetOf(context, request);
  const command = target.address.command ?? request.query.get('command');
  if (command !== undefined) return runCommand(target, command);
  switch (target.address.form) {
    case 'property':
      throw methodNotAllowed(allowOf.property, 'A property is written with PUT');
    case 'versions':
    case 'version':
      throw methodNotAllowed(allowOf.versions, 'Versions are made with svc:create_version');
    default:
      return createNode(target);
  }
}

async function createNode({ context, request, branch, workspace, address }: NodeTarget): Promise<HttpReply> {
  const parentPath = address.path;
  refuseParametersBut(request, 'the creation of a node', ['deep']);
  if (parentPath === null) {
    throw new ServiceError('INVALID_PATH', 'A node is created below a path, not below an id');
  }
  if (request.body === undefined) {
    throw new ServiceError('INVALID_JSON', 'The body is empty where JSON is expected.');
  }
  const { node, commit } = parseCreateBody(request.body);
  const lock = bodyLock(bodyFields(request.body));
  const command: CreateNode = {
    type: 'CreateNode',
    ...conditionOf(request),
    workspace,
    parentPath,
    node,
    deep: request.query.flag('deep') === true,
    ...(commit === undefined ? {} : { commit }),
  };
  const written = await sendCommand<NodeWritten>(context, request, branch, { ...command, ...lock });
  const reply = nodeWrittenReply(201, written, parentPath !== '/' || commit !== undefined);
  return { ...reply, headers: taggedHeaders(reply.headers ?? {}, written.tag) };
}

/**
 * The reply of a write that returns a node.
 *
 * @param isEnvelope `{node, revision, committed: true}` instead of the bare node
 */
function nodeWrittenReply(status: number, written: NodeWritten, isEnvelope: boolean): HttpReply {
  const { node, revision } = written;
  const raw = isEnvelope ? `{"node":${node},"revision":"${revision}","committed":true}` : node;
  return { status, headers: revisionHeaders(written), raw };
}

/** A PUT: the properties of a node, or the one property in the address. */
export async function putNode(context: RestContext, request: RestRequest): Promise<HttpReply> {
  const target = await targetOf(context, request);
  const { address, branch, workspace } = target;
  const place = placeOf(address);
  if (address.form === 'property') {
    const set: SetProperty = {
      type: 'SetProperty',
      workspace,
      place,
      property: address.property ?? [],
      value: request.body as JsonValue,
      ...conditionOf(request),
    };
    const written = await sendCommand<Written>(context, request, branch, set);
    return { status: 200, headers: revisionHeaders(written), json: { status: 'property updated' } };
  }
  requireNode(target, 'PUT');
  const fields = bodyFields(request.body);
  const command: UpdateNode = {
    type: 'UpdateNode',
    workspace,
    place,
    ...conditionOf(request, fields),
    ...parseUpdateBody(request.body),
  };
  const lock = bodyLock(fields);
  const written = await sendCommand<NodeWritten>(context, request, branch, { ...command, ...lock });
  return nodeWrittenReply(200, written, command.commit !== undefined);
}

/** A PATCH: parts of a node. */
export async function patchNode(context: RestContext, request: RestRequest): Promise<HttpReply> {
  const target = await targetOf(context, request);
  const { address, branch, workspace } = target;
  requireNode(target, 'PATCH');
  const fields = bodyFields(request.body);
  const command: PatchNode = {
    type: 'PatchNode',
    workspace,
    place: placeOf(address),
    ...conditionOf(request, fields),
    ...parsePatchBody(request.body),
  };
  const lock = bodyLock(fields);
  const written = await sendCommand<NodeWritten>(context, request, branch, { ...command, ...lock });
  const reply = nodeWrittenReply(200, written, command.commit !== undefined);
  return { ...reply, headers: taggedHeaders(reply.headers ?? {}, written.tag) };
}

async function deleteProperty(target: NodeTarget): Promise<HttpReply> {
  const { address, branch, context, request, workspace } = target;
  const fields = request.body === undefined ? undefined : bodyFields(request.body);
  const commit = fields === undefined ? undefined : optionalCommit(fields);
  const command: RemoveProperty = {
    type: 'RemoveProperty',
    workspace,
    place: placeOf(address),
    property: address.property ?? [],
    ...conditionOf(request, fields),
    ...(commit === undefined ? {} : { commit }),
  };
  const lock = fields === undefined ? {} : bodyLock(fields);
  const written = await sendCommand<Written>(context, request, branch, { ...command, ...lock });
  const json = { deleted: true, ...(commit === undefined ? {} : { ...written, committed: true }) };
  return { status: 200, headers: revisionHeaders(written), json };
}

/** A DELETE: the node with its subtree, or the one property in the address. */
export async function deleteNode(context: RestContext, request: RestRequest): Promise<HttpReply> {
  const target = await targetOf(context, request);
  const { address, branch, workspace } = target;
  if (address.form === 'property') return await deleteProperty(target);
  requireNode(target, 'DELETE');
  const fields = request.body === undefined ? undefined : bodyFields(request.body);
  const commit = fields === undefined ? undefined : optionalCommit(fields);
  const lock = fields === undefined ? {} : bodyLock(fields);
  const command: DeleteNode = {
    type: 'DeleteNode',
    workspace,
    place: placeOf(address),
    ...conditionOf(request, fields),
    ...(commit === undefined ? {} : { commit }),
  };
  const written = await sendCommand<NodeDeleted>(context, request, branch, { ...command, ...lock });
  const { nodeId, revision } = written;
  const json =
    commit === undefined ? { deleted: true } : { deleted: true, node_id: nodeId, revision, committed: true };
  return { status: 200, headers: revisionHeaders(written), json };
}

/** Only a node itself can be replaced or removed; a trailing slash denotes the same node. */
function requireNode({ address }: NodeTarget, method: string): void {
  const { form } = address;
  if (form === 'node' || form === 'listing') return;
  const allow = form === 'version' ? allowOf.versions : allowOf[form];
  throw methodNotAllowed(allow, `This address does not take ${method}`);
}

/** Any write below `/rev/`. */
export function refuseRevisionWrite(): HttpReply {
  throw new ServiceError('READ_ONLY_REVISION');
}
