import { PROPERTY_SCHEMA_DEPTH_MAX } from '#runtime/content/definitions/property-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import type { PropertyNode } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { MemberForm } from './member-form.ts';
import type { StatementValues } from './statement-values.ts';

/** A property or field. */
interface Member {
  json: JsonObject;
  /** Its own members by name; undefined when it cannot have any. */
  members: Map<string, Member> | undefined;
}

/**
 * The properties or fields of a definition, while a statement changes them. They are a tree, so that `'a.b'` is found without
 * a copy of everything beside it.
 */
export class MemberList {
  readonly #form: MemberForm;
  readonly #values: StatementValues;
  readonly #top: Map<string, Member>;

  /** @param stored the list of the definition that is changed; absent for a new one */
  constructor(form: MemberForm, values: StatementValues, stored: JsonValue | undefined) {
    this.#form = form;
    this.#values = values;
    const list = Array.isArray(stored) ? stored : [];
    this.#top = this.#read(list.filter(isJsonObject));
  }

  /** As the definition has them. */
  toJson(): JsonObject[] {
    return this.#write(this.#top);
  }

  /**
   * Adds a member, and the objects on the way to it that do not exist.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`, for instance when it exists
   */
  add(node: PropertyNode): void {
    this.#addTo(this.#top, node, undefined);
  }

  /** Writes a member anew. @throws {ServiceError} `VALIDATION_FAILED`, for instance when it does not exist */
  modify(node: PropertyNode): void {
    const [members, name] = this.#holderOf(node.path, node.span);
    members.set(name, this.#made(node, name, members.get(name)));
  }

  /**
   * Removes a member.
   *
   * @param span where the statement says so
   * @throws {ServiceError} `VALIDATION_FAILED` when it does not exist
   */
  drop(path: readonly string[], span: Pick<Span, 'start'>): void {
    const [members, name] = this.#holderOf(path, span);
    members.delete(name);
  }

  #read(list: readonly JsonObject[]): Map<string, Member> {
    const members = new Map<string, Member>();
    for (const json of list) {
      const own = this.#form.membersOf(json);
      members.set(String(json.name), { json, members: own === undefined ? undefined : this.#read(own) });
    }
    return members;
  }

  #write(members: ReadonlyMap<string, Member>): JsonObject[] {
    return [...members.values()].map((member) => this.#jsonOf(member));
  }

  #jsonOf({ json, members }: Member): JsonObject {
    return members === undefined ? json : this.#form.withMembers(json, this.#write(members));
  }

  #addTo(
    top: Map<string, Member>,
    node: PropertyNode,
    previous: ReadonlyMap<string, Member> | undefined,
  ): void {
    this.#requireShort(node.path, node.span);
    let members = top;
    let before = previous;
    const last = node.path.length - 1;
    for (const [step, name] of node.path.entries()) {
      const known = members.get(name);
      if (step === last) {
        if (known !== undefined) throw this.#error(node.path, 'exists already', node.span);
        members.set(name, this.#made(node, name, before?.get(name)));
        return;
      }
      const holder = known ?? { json: this.#form.object(name), members: new Map<string, Member>() };
      if (holder.members === undefined) throw this.#noMembers(node.path.slice(0, step + 1), node.span);
      members.set(name, holder);
      members = holder.members;
      before = before?.get(name)?.members;
    }
  }

  /** The members among which an existing one is, and its name there. */
  #holderOf(path: readonly string[], span: Pick<Span, 'start'>): [Map<string, Member>, string] {
    this.#requireShort(path, span);
    let members = this.#top;
    const last = path.length - 1;
    for (const [step, name] of path.entries()) {
      const known = members.get(name);
      if (known === undefined) throw this.#error(path, 'not found', span);
      if (step === last) return [members, name];
      if (known.members === undefined) throw this.#noMembers(path.slice(0, step + 1), span);
      members = known.members;
    }
    throw this.#error(path, 'not found', span);
  }

  #made(node: PropertyNode, name: string, previous: Member | undefined): Member {
    const before = previous === undefined ? undefined : this.#jsonOf(previous);
    const { json, listing } = this.#form.write(node, name, before, this.#values);
    if (listing !== undefined) {
      const members = new Map<string, Member>();
      for (const inner of listing.properties) this.#addTo(members, inner, previous?.members);
      return { json, members };
    }
    const own = this.#form.membersOf(json);
    return { json, members: own === undefined ? undefined : this.#read(own) };
  }

  #requireShort(path: readonly string[], span: Pick<Span, 'start'>): void {
    if (path.length <= PROPERTY_SCHEMA_DEPTH_MAX) return;
    throw this.#values.error(`A path has at most ${PROPERTY_SCHEMA_DEPTH_MAX} names`, span);
  }

  #noMembers(path: readonly string[], span: Pick<Span, 'start'>): Error {
    return this.#error(
      path,
      `cannot have ${this.#form.noun === 'Field' ? 'fields' : 'properties'}: it is no Object`,
      span,
    );
  }

  #error(path: readonly string[], text: string, span: Pick<Span, 'start'>): Error {
    return this.#values.error(`${this.#form.noun} '${path.join('.')}' ${text}`, span);
  }
}
