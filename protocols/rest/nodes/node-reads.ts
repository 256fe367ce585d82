import type { ReadVersions } from '#actors/branch/messages.ts';
import type {
  ListChildren,
  NodePlace,
  ReadNode,
  ReadProperty,
  ReadTree,
} from '#actors/branch/read-messages.ts';
import type { Unchanged } from '#actors/branch/condition-messages.ts';
import type { JsonText } from '#runtime/content/values/json-text.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { type NodeAddress, parseNodeAddress } from '#runtime/content/node-address.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { HttpReply, ReplyHeaders } from '#protocols/http/route.ts';
import { askBranch, likelyBranchOf, replyOf, type ToReply } from '../access/branch-access.ts';
import { ReadCondition, taggedHeaders } from './conditions.ts';
import { readCommand } from './node-commands.ts';
import { isOfNode, type NodeTarget, placeOf } from './node-target.ts';
import { blockYaml, flowYaml } from './node-yaml.ts';
import { headMoment, revisionMoment } from '../reads/read-moment.ts';
import { type Part, partOf } from '../reads/property-names.ts';
import { historyParameters, propertyParameters, readShapeOf } from '../reads/read-parameters.ts';
import { refuseParametersBut } from '../reads/refused-parameters.ts';
import { callerOf, readerOf, type RestContext } from '../rest-context.ts';
import type { RestRequest } from '../rest-route.ts';
import { unlessMissing } from '../reads/unless-missing.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';

/**
 * Serves a GET of a node address at the head, or at the revision of `?revision=`.
 *
 * @see docs/interface/reading.md
 */
export function readAtHead(context: RestContext, request: RestRequest): Soon<HttpReply> {
  return readAddress(context, request, headMoment(request));
}

/** Serves a GET of a node address at the revision of the route. */
export function readAtRevision(context: RestContext, request: RestRequest): Soon<HttpReply> {
  return readAddress(context, request, revisionMoment(request));
}

/** A read by path is the hot path: nothing is awaited from here to the reply if this process owns the branch. */
function readAddress(context: RestContext, request: RestRequest, at: Revision | undefined): Soon<HttpReply> {
  const address = parseNodeAddress(request.param('path'));
  const workspace = request.segment('workspace');
  return afterwards(likelyBranchOf(context, request, 'read'), (branch) =>
    answer({ context, request, branch, workspace, address, at }),
  );
}

/** The node and revision of a read. */
interface ReadTarget extends NodeTarget {
  readonly at: Revision | undefined;
}

function answer(target: ReadTarget): Soon<HttpReply> {
  const { address, request } = target;
  const place = placeOf(address);
  const command = address.command ?? (isOfNode(address) ? request.query.get('command') : undefined);
  if (command !== undefined) return readCommand(target, command, target.at);
  switch (address.form) {
    case 'property':
      refuseParametersBut(request, 'a property', propertyParameters);
      return atIdAlias(place, (other) => readProperty(target, other, address));
    case 'versions':
    case 'version':
      refuseParametersBut(request, 'a manual version', historyParameters);
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
      const read = { ...readBase(target, place, lang), ...partOf(request) };
      return ask<unknown>(target, { ...read, type: 'ReadTree', levels, form }, replyOf);
    }
    case 'children':
    case 'page': {
      const base = { ...readBase(target, place, lang), ...partOf(request) };
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

/** Reads a node; if there is none, reads the alternative meanings of its name. */
function readNode(target: ReadTarget, place: NodePlace, lang: string | undefined): Soon<HttpReply> {
  const read = (other: NodePlace, form: NodeForm): Soon<HttpReply> => {
    const { context, request, branch, at } = target;
    const condition = ReadCondition.of(request, form.suffix);
    const base: ReadNode = {
      ...readBase(target, other, lang),
      ...partOf(request),
      type: 'ReadNode',
      tagged: true,
    };
    if (condition === undefined)
      return askBranch(context, request, branch, base, readerOf(request), form.reply, at);
    const query: ReadNode = { ...condition.query, ...base };
    const reply: ToReply<JsonText | Unchanged> = (answer, headers) => {
      const isSame = 'unchanged' in answer;
      const judged = condition.judge(isSame ? answer.unchanged : answer.tag, headers);
      return judged ?? form.reply(answer as JsonText, headers);
    };
    return askBranch(context, request, branch, query, readerOf(request), reply, at);
  };
  if (!('path' in place)) return read(place, jsonForm);
  const yamlPath = withoutYamlSuffix(place.path);
  if (yamlPath !== undefined) {
    return unlessMissing(
      () => read(place, jsonForm),
      () => read({ path: yamlPath }, yamlForm),
    );
  }
  return atIdAlias(place, (other) => read(other, jsonForm));
}

/** The form in which a node is sent. */
interface NodeForm {
  /** Suffix of the node's entity tag. */
  readonly suffix: string;
  readonly reply: ToReply<JsonText>;
}

const jsonForm: NodeForm = { suffix: '', reply: nodeReply };
const yamlForm: NodeForm = { suffix: '.yaml', reply: yamlReply };

function nodeReply(node: JsonText, headers: ReplyHeaders): HttpReply {
  return { status: 200, headers: taggedHeaders(headers, node.tag), raw: node.body };
}

/**
 * Longest JSON text of a node that is converted to YAML's block style, in characters. The conversion is one step,
 * which takes up to a millisecond for each thousand characters.
 */
const BLOCK_STYLE_CHARACTERS_MAX = 32 * 1024;

/** A node as YAML. A large one is sent as its JSON text, because YAML accepts JSON nearly unchanged. */
function yamlReply(node: JsonText, headers: ReplyHeaders): HttpReply {
  const { tag, text } = node;
  const body =
    text.length > BLOCK_STYLE_CHARACTERS_MAX ? { stream: chunksOf(text) } : { raw: blockYaml(node.parse()) };
  return {
    status: 200,
    headers: taggedHeaders(headers, tag === undefined ? undefined : tag + yamlForm.suffix),
    ...body,
    contentType: 'text/yaml; charset=utf-8',
  };
}

async function* chunksOf(json: string): AsyncGenerator<string, void> {
  yield* flowYaml(json);
}

function readProperty(target: ReadTarget, place: NodePlace, address: NodeAddress): Soon<HttpReply> {
  const base = readBase(target, place, langOf(target.request));
  const condition = ReadCondition.of(target.request);
  const query: ReadProperty = {
    ...base,
    type: 'ReadProperty',
    property: address.property ?? [],
    ...condition?.query,
  };
  return askBranch<TaggedValue | Unchanged>(
    target.context,
    target.request,
    target.branch,
    query,
    readerOf(target.request),
    (answer, headers) => {
      const judged = condition?.judge('unchanged' in answer ? answer.unchanged : answer.tag, headers);
      if (judged !== undefined) return judged;
      const { tag, value } = answer as TaggedValue;
      return { status: 200, headers: taggedHeaders(headers, tag), json: value };
    },
    target.at,
  );
}

/** A property with the entity tag of its node; members of an older version send no tag. */
interface TaggedValue {
  readonly value: JsonValue;
  readonly tag?: string;
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

/** Queries the branch for a read that may take a while; it stops when the caller has gone. */
function ask<Answer>(
  target: ReadTarget,
  query: ListChildren | ReadTree | ReadVersions,
  toReply: ToReply<Answer>,
): Soon<HttpReply> {
  const { context, request, branch, at } = target;
  return askBranch(context, request, branch, query, callerOf(request), toReply, at);
}

interface ReadBase extends Part {
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

/** `/a/b.yaml` is the node `/a/b` as YAML when no node has the full name. */
function withoutYamlSuffix(path: string): string | undefined {
  if (!path.endsWith('ml')) return undefined;
  const match = /^(.*[^/])\.ya?ml$/.exec(path);
  return match?.[1];
}

const idAlias = /^\/_id\/([^/]+)$/;

/** `/_id/{id}` is another spelling of `$ref/{id}` when no node has that path. */
function atIdAlias(place: NodePlace, read: (place: NodePlace) => Soon<HttpReply>): Soon<HttpReply> {
  const id = 'path' in place && place.path.startsWith('/_id/') ? idAlias.exec(place.path)?.[1] : undefined;
  if (id === undefined) return read(place);
  return unlessMissing(
    () => read(place),
    () => read({ id }),
  );
}
