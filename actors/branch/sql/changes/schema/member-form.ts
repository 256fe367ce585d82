import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { ObjectTypeNode, PropertyNode } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import type { StatementValues } from './statement-values.ts';

/** What a property or field is written as. */
export interface WrittenMember {
  /** Its JSON, without its members. */
  readonly json: JsonObject;
  /** The type that lists its members, if the statement lists them. */
  readonly listing: ObjectTypeNode | undefined;
}

/** How the members of a kind of definition are written as JSON: properties of node types and mixins, fields of the others. */
export interface MemberForm {
  /** `Property` or `Field`, for messages. */
  readonly noun: 'Property' | 'Field';
  /**
   * The JSON of a member.
   *
   * @param previous the member that it replaces: what the dialect cannot express stays
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  write(
    node: PropertyNode,
    name: string,
    previous: JsonObject | undefined,
    values: StatementValues,
  ): WrittenMember;
  /** An object that has members but nothing else. */
  object(name: string): JsonObject;
  /** The members of one that may have members of its own; each has its name. Undefined: it may not have any. */
  membersOf(json: JsonObject): readonly JsonObject[] | undefined;
  /** The member with other members of its own. */
  withMembers(json: JsonObject, members: readonly JsonObject[]): JsonObject;
}
