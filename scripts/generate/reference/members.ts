import ts from 'typescript';
import { type Docblock, docblockOf } from './docblock.ts';
import { memberSignature } from './signature.ts';

type Members = readonly (ts.TypeElement | ts.ClassElement)[];

/**
 * The members of an interface, a class, an object type or an object; undefined for a declaration that is no list of
 * members.
 */
export function membersOf(statement: ts.Statement): Members | undefined {
  if (ts.isInterfaceDeclaration(statement)) return statement.members;
  if (ts.isClassDeclaration(statement)) return statement.members.filter(isPublic);
  const type = ts.isTypeAliasDeclaration(statement)
    ? statement.type
    : ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0]?.type
      : undefined;
  return type !== undefined && ts.isTypeLiteralNode(type) ? type.members : undefined;
}

function isPublic(member: ts.ClassElement): boolean {
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return false;
  const modifiers = ts.canHaveModifiers(member) ? (ts.getModifiers(member) ?? []) : [];
  return !modifiers.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
}

/**
 * A list of members, an item each: its signature as code, then its docblock. Documented members of inline objects are
 * items below it.
 */
export function memberList(members: Members, indent = ''): string {
  return members.map((member) => memberItem(member, indent)).join('\n');
}

function memberItem(member: ts.TypeElement | ts.ClassElement, indent: string): string {
  const signature = code(memberSignature(member));
  const docblock = docblockOf(member);
  const prose = docblock === undefined ? '' : proseOf(docblock);
  const inner = inlineObjects(member).map((members) => `\n${memberList(members, `${indent}  `)}`);
  const text = prose === '' ? '' : `: ${prose.replace(/\n(?!\n)/g, `\n${indent}  `)}`;
  return `${indent}- ${signature}${text}${inner.join('')}`;
}

/** The text, parameters and tags of a docblock as one piece of text, without examples. */
function proseOf({ text, parameters, tags }: Docblock): string {
  const named = [...parameters].map(([name, meaning]) => `\`${name}\`: ${meaning}.`);
  const sentences = tags.filter(({ tag }) => tag !== 'example').map((tag) => tagText(tag));
  return [text, ...named, ...sentences].filter((part) => part !== '').join(' ');
}

/** A tag as a sentence. */
export function tagText({ tag, text }: { readonly tag: string; readonly text: string }): string {
  return `${TAGS[tag] ?? tag} ${text}${/[.:]$/.test(text) ? '' : '.'}`;
}

const TAGS: Readonly<Record<string, string>> = {
  throws: '**Throws**',
  returns: '**Returns**',
  deprecated: '**Deprecated:**',
};

/** The members of object types inside a signature, where one of them has a docblock of its own. */
function inlineObjects(member: ts.Node): Members[] {
  const found: Members[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeLiteralNode(node)) {
      const documented = node.members.filter((inner) => docblockOf(inner) !== undefined);
      if (documented.length > 0) found.push(documented);
      else ts.forEachChild(node, visit);
    } else ts.forEachChild(node, visit);
  };
  ts.forEachChild(member, visit);
  return found;
}

function code(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}
