import { isJsonArray, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import type { AlterDefinitionStatement, DefinitionAction } from '#runtime/sql-syntax/nodes/schema-nodes.ts';
import { hasFields } from '#runtime/sql-syntax/schema-parts.ts';
import { targets } from './definition-targets.ts';
import { fieldForm } from './field-form.ts';
import { MemberList } from './member-list.ts';
import { propertyForm } from './property-form.ts';
import type { StatementValues } from './statement-values.ts';

/**
 * A definition as an ALTER leaves it: the actions are done in their order, and what they do not name stays.
 *
 * @param stored the definition that it changes
 * @throws {ServiceError} `VALIDATION_FAILED`, for instance for a property that does not exist
 */
export function alteredDefinition(
  statement: AlterDefinitionStatement,
  stored: JsonObject,
  values: StatementValues,
): JsonObject {
  const key = hasFields(statement.target) ? 'fields' : 'properties';
  const form = hasFields(statement.target) ? fieldForm : propertyForm;
  const members = new MemberList(form, values, stored[key]);
  const json: Record<string, JsonValue> = { ...stored };
  for (const action of statement.actions) {
    switch (action.kind) {
      case 'add-property':
        members.add(action.property);
        break;
      case 'modify-property':
        members.modify(action.property);
        break;
      case 'drop-property':
        members.drop(action.path, statement.span);
        break;
      default:
        Object.assign(json, actionJson(action, json, statement, values));
    }
  }
  json[key] = members.toJson();
  return json;
}

type OtherAction = Exclude<DefinitionAction, { kind: 'add-property' | 'modify-property' | 'drop-property' }>;

function actionJson(
  action: OtherAction,
  json: JsonObject,
  statement: AlterDefinitionStatement,
  values: StatementValues,
): JsonObject {
  switch (action.kind) {
    case 'set-text':
      return { [action.field]: values.text(action.text) };
    case 'set-name':
      return {
        [action.field === 'extends' ? 'extends' : 'base_node_type']:
          action.name === undefined ? null : values.text(action.name),
      };
    case 'set-names':
      return {
        [action.field === 'allowed-children' ? 'allowed_children' : 'required_nodes']: values.texts(
          action.names,
        ),
      };
    case 'set-flag':
      return { [action.flag]: action.isOn };
    case 'add-mixin':
    case 'drop-mixin':
      return { mixins: changedMixins(action, json, statement, values) };
  }
}

function changedMixins(
  { kind, name }: Extract<OtherAction, { kind: 'add-mixin' | 'drop-mixin' }>,
  json: JsonObject,
  statement: AlterDefinitionStatement,
  values: StatementValues,
): readonly JsonValue[] {
  const mixin = values.text(name);
  const mixins = isJsonArray(json.mixins) ? json.mixins : [];
  const has = mixins.includes(mixin);
  if (has === (kind === 'drop-mixin')) {
    return has ? mixins.filter((each) => each !== mixin) : [...mixins, mixin];
  }
  const owner = `${targets[statement.target].noun} '${String(json.name)}'`;
  throw values.error(
    `${owner} ${has ? 'has' : 'does not have'} the mixin '${mixin}'${has ? ' already' : ''}`,
    name.span,
  );
}
