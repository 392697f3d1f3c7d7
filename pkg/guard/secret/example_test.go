package secret_test

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/guard/secret"
)

func ExampleNew() {
	r := secret.New(map[string]string{"PAYMENT_KEY": "hunter2-of-the-shop"})
	fmt.Println(r.String("paid with hunter2-of-the-shop"))
	// Output: paid with [secret: PAYMENT_KEY] true
}
