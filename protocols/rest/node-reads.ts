import { stringify } from 'yaml';
import type {
  ListChildren,
  NodePlace,
  ReadNode,
  ReadProperty,
  ReadTree,
  ReadVersions,
} from '#actors/branch/messages.ts';
import type { JsonText } from '#runtime/content/json-text.ts';
import type { JsonValue } from '#runtime/content/json-value.ts';
import { type NodeAddress, parseNodeAddress } from '#runtime/content/node-address.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { HttpReply, ReplyHeaders } from '#protocols/http/route.ts';
import { askBranch, likelyBranchOf, replyOf, type ToReply } from './branch-access.ts';
import { readCommand } from './node-commands.ts';
import { type NodeTarget, placeOf } from './node-target.ts';
import { headMoment, revisionMoment } from './read-moment.ts';
import { readShapeOf } from './read-parameters.ts';
import { callerOf, readerOf, type RestContext, type RestRequest } from './rest-context.ts';
import { afterwards, recovering, type Soon } from './soon.ts';

/**
 * Answers a GET of a node address at the head, or at the revision of `?revision=`.
 *
 * @see Content, Query, Functions and Versioning Interface: Endpoints, Nodes
 */
export function readAtHead(context: RestContext, request: RestRequest): Soon<HttpReply> {
  return readAddress(context, request, headMoment(request));
}

/** Answers a GET of a node address at the revision of the route. */
export function readAtRevision(context: RestContext, request: RestRequest): Soon<HttpReply> {
  return readAddress(context, request, revisionMoment(request));
}

/**
 * A node by its path is the hot path: from here to the reply nothing is awaited when the branch is of this
 * process.
 */
function readAddress(context: RestContext, request: RestRequest, at: Revision | undefined): Soon<HttpReply> {
  const address = parseNodeAddress(request.param('path'));
  const workspace = request.segment('workspace');
  return afterwards(likelyBranchOf(context, request, 'read'), (branch) =>
    answer({ context, request, branch, workspace, address, at }),
  );
}

/** Where and when a read looks. */
interface ReadTarget extends NodeTarget {
  readonly at: Revision | undefined;
}

function answer(target: ReadTarget): Soon<HttpReply> {
  const { address, request } = target;
  const place = placeOf(address);
  const command = address.command ?? request.query.get('command');
  if (command !== undefined) return readCommand(target, command, target.at);
  switch (address.form) {
    case 'property':
      return atIdAlias(place, (other) => readProperty(target, other, address));
    case 'versions':
    case 'version':
      return readVersions(target, place, address.version);
    default:
      return readNodeOrChildren(target, place, address);
  }
}

function readNodeOrChildren(target: ReadTarget, place: NodePlace, address: NodeAddress): Soon<HttpReply> {
  const { request } = target;
  const isListing = address.form === 'listing' || address.path === '/';
  if (!isListing && request.queryString === '') return readNode(target, place, undefined);
  const lang = langOf(request);
  const shape = readShapeOf(request.query, isListing);
  switch (shape.kind) {
    case 'node':
      return readNode(target, place, lang);
    case 'tree': {
      const { levels, form } = shape;
      const read = readBase(target, place, lang);
      return ask<unknown>(target, { ...read, type: 'ReadTree', levels, form }, replyOf);
    }
    case 'children':
    case 'page': {
      const base = readBase(target, place, lang);
      const list: ListChildren = { ...base, type: 'ListChildren', scope: target.branch.actor };
      if (shape.kind === 'children') return ask<unknown>(target, list, replyOf);
      const { cursor, limit } = shape;
      return ask<unknown>(
        target,
        cursor === undefined ? { ...list, limit } : { ...list, limit, cursor },
        replyOf,
      );
    }
  }
}

/** Reads a node; by the names that may also stand for something else when there is no such node. */
function readNode(target: ReadTarget, place: NodePlace, lang: string | undefined): Soon<HttpReply> {
  const read = (other: NodePlace, reply: ToReply<JsonText>): Soon<HttpReply> => {
    const query: ReadNode = { ...readBase(target, other, lang), type: 'ReadNode' };
    const caller = readerOf(target.request);
    return askBranch(target.context, target.request, target.branch, query, caller, reply, target.at);
  };
  if (!('path' in place)) return read(place, nodeReply);
  const yamlPath = withoutYamlSuffix(place.path);
  if (yamlPath !== undefined) {
    return unlessMissing(
      () => read(place, nodeReply),
      () => read({ path: yamlPath }, yamlReply),
    );
  }
  return atIdAlias(place, (other) => read(other, nodeReply));
}

function nodeReply(node: JsonText, headers: ReplyHeaders): HttpReply {
  return { status: 200, headers, raw: node.text };
}

function yamlReply(node: JsonText, headers: ReplyHeaders): HttpReply {
  const text = stringify(node.parse(), { aliasDuplicateObjects: false, lineWidth: 0 });
  return { status: 200, headers, raw: text, contentType: 'text/yaml; charset=utf-8' };
}

function readProperty(target: ReadTarget, place: NodePlace, address: NodeAddress): Soon<HttpReply> {
  const base = readBase(target, place, langOf(target.request));
  const query: ReadProperty = { ...base, type: 'ReadProperty', property: address.property ?? [] };
  return askBranch<{ readonly value: JsonValue }>(
    target.context,
    target.request,
    target.branch,
    query,
    readerOf(target.request),
    ({ value }, headers) => ({ status: 200, headers, json: value }),
    target.at,
  );
}

function readVersions(target: ReadTarget, place: NodePlace, version: number | null): Soon<HttpReply> {
  const { at, workspace } = target;
  const query: ReadVersions = {
    type: 'ReadVersions',
    workspace,
    place,
    ...(version === null ? {} : { version }),
    ...(at === undefined ? {} : { at }),
  };
  return ask<unknown>(target, query, replyOf);
}

/** A read that may take a while: it stops when the caller goes away. */
function ask<Answer>(
  target: ReadTarget,
  query: ListChildren | ReadTree | ReadVersions,
  toReply: ToReply<Answer>,
): Soon<HttpReply> {
  const { context, request, branch, at } = target;
  return askBranch(context, request, branch, query, callerOf(request), toReply, at);
}

interface ReadBase {
  readonly workspace: string;
  readonly place: NodePlace;
  readonly at?: Revision;
  readonly lang?: string;
}

function readBase({ workspace, at }: ReadTarget, place: NodePlace, lang: string | undefined): ReadBase {
  if (at === undefined) return lang === undefined ? { workspace, place } : { workspace, place, lang };
  return lang === undefined ? { workspace, place, at } : { workspace, place, at, lang };
}

function langOf(request: RestRequest): string | undefined {
  const lang = request.query.get('lang');
  return lang === '' ? undefined : lang;
}

/** `/a/b.yaml` is the node `/a/b` as YAML when there is no node of the whole name. */
function withoutYamlSuffix(path: string): string | undefined {
  const match = /^(.*[^/])\.ya?ml$/.exec(path);
  return match?.[1];
}

const idAlias = /^\/_id\/([^/]+)$/;

/** `/_id/{id}` is another spelling of `$ref/{id}` when there is no node of that path. */
function atIdAlias(place: NodePlace, read: (place: NodePlace) => Soon<HttpReply>): Soon<HttpReply> {
  const id = 'path' in place && place.path.startsWith('/_id/') ? idAlias.exec(place.path)?.[1] : undefined;
  if (id === undefined) return read(place);
  return unlessMissing(
    () => read(place),
    () => read({ id }),
  );
}

/** The second answer when the first finds no node; when neither does, the refusal names what was asked for. */
function unlessMissing(first: () => Soon<HttpReply>, second: () => Soon<HttpReply>): Soon<HttpReply> {
  return recovering(first, (error) => {
    if (!isNodeMissing(error)) throw error;
    return recovering(second, (other) => {
      throw isNodeMissing(other) ? error : other;
    });
  });
}

function isNodeMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'NODE_NOT_FOUND';
}
