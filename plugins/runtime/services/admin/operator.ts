import { defineErrors, type Identity, isOperator } from 'agent-gateway';

/** The error for administrators of tenants other than the default one, who are no operators. */
export const OperatorErrors = defineErrors({
  required: {
    code: 'admin.operator-required',
    kind: 'forbidden',
    title: 'This belongs to the deployment, and is for administrators of the default tenant',
  },
});

/** @throws admin.operator-required */
export function requireOperator(identity: Identity): void {
  if (!isOperator(identity)) throw OperatorErrors.required();
}
